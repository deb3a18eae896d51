//! PyTorch's policy with expandable segments over the driver's own memory.

use cuda_sim::control::{Config, configure};
use gpu_alloc::DeviceSource;
use gpu_alloc::policy::{Block, Inspect, Policy, Pytorch};
use gpu_runtime::{Device, DevicePtr, DriverChoice, Stream};
use test_support::isolate;

use crate::device_support::devices;

const MIB: u64 = 1 << 20;

struct Fixture {
    device: Device,
    stream: Stream,
    policy: Pytorch<usize>,
    source: DeviceSource,
}

impl Fixture {
    fn new(device: Device) -> Self {
        let options = "expandable_segments:True".parse().expect("it is well formed");
        let total = device.memory_info().expect("an answer").total as u64;
        Fixture {
            device,
            stream: Stream::new(device).expect("a stream"),
            policy: Pytorch::with_options(options, total),
            source: DeviceSource::new(device),
        }
    }

    fn allocate(&mut self, bytes: u64) -> Block {
        self.policy.allocate(&mut self.source, bytes, 0.into()).expect("there is room")
    }

    fn free(&mut self, block: Block) {
        self.policy.free(block, &[]).expect("the block is the policy's own");
    }

    /// Sets every byte of a block, and waits.
    fn fill(&self, block: &Block, byte: u8) {
        let (at, bytes) = (DevicePtr::from_address(block.address().0), block.bytes() as usize);
        // SAFETY: the block is held by the caller, and nobody else uses it.
        unsafe { self.stream.enqueue_fill(at, byte, bytes) }.expect("taken");
        self.stream.synchronize().expect("the device works");
    }

    fn holds(&self, block: &Block, byte: u8) -> bool {
        let mut found = vec![0; block.bytes() as usize];
        let at = DevicePtr::from_address(block.address().0);
        // SAFETY: `found` lives until the stream is synchronized.
        unsafe { self.stream.enqueue_dtoh(found.as_mut_ptr(), at, found.len()) }.expect("taken");
        self.stream.synchronize().expect("the device works");
        found.iter().all(|other| *other == byte)
    }

    fn device_free(&self) -> u64 {
        self.device.memory_info().expect("an answer").free as u64
    }
}

#[test]
fn blocks_keep_what_is_in_them_while_pages_around_them_come_and_go() {
    isolate(|| {
        for device in devices() {
            let mut f = Fixture::new(device);
            let before = f.device_free();
            let [first, middle, last] = [10 * MIB, 50 * MIB, 5 * MIB].map(|b| f.allocate(b));
            for (block, byte) in [(&first, 1), (&middle, 2), (&last, 3)] {
                f.fill(block, byte);
            }
            assert!(f.holds(&first, 1) && f.holds(&middle, 2) && f.holds(&last, 3));
            f.free(middle);
            assert_eq!(f.policy.release_cached(&mut f.source), 40 * MIB);
            assert_eq!(before - f.device_free(), 40 * MIB);
            let wide = f.allocate(90 * MIB);
            f.fill(&wide, 4);
            assert!(f.holds(&first, 1) && f.holds(&wide, 4) && f.holds(&last, 3));
            [first, wide, last].into_iter().for_each(|block| f.free(block));
            f.policy.release_cached(&mut f.source);
            assert_eq!(f.device_free(), before);
        }
    })
    .run();
}

#[test]
fn on_a_driver_without_virtual_memory_segments_are_plain() {
    isolate(|| {
        configure(Config { virtual_memory: false, ..Config::default() })
            .expect("nothing is in use");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("nothing is in use");
        let mut f = Fixture::new(Device::get(0).expect("there is one"));
        let block = f.allocate(10 * MIB);
        f.fill(&block, 1);
        assert!(f.holds(&block, 1));
        assert!(f.policy.snapshot().iter().all(|segment| !segment.is_expandable));
        f.free(block);
        assert_eq!(f.policy.release_cached(&mut f.source), 10 * MIB);
    })
    .run();
}
