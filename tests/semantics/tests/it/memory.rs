//! Memory: S20 to S23. Exact statistics need a process of their own.

use std::collections::BTreeMap;

use gpu_alloc::policy::{Address, Suballocator};
use gpu_runtime::{RaceChecker, StreamId};
use tensor::{Device, Tensor, cuda};
use test_support::isolate;

const MIB: usize = 1 << 20;

#[test]
fn s20_freed_memory_is_reused_without_a_driver_call() {
    isolate(|| {
        let device = Device::cuda_at(1);
        let first = Tensor::zeros([MIB], device).expect("4 MiB");
        let calls = cuda::memory_stats(device).expect("statistics").num_device_alloc;
        let reserved = cuda::memory_reserved(device).expect("statistics");
        drop(first);
        for _ in 0..10 {
            drop(Tensor::zeros([MIB], device).expect("4 MiB again"));
        }
        let after = cuda::memory_stats(device).expect("statistics");
        assert_eq!(after.num_device_alloc, calls);
        assert_eq!(cuda::memory_reserved(device).expect("statistics"), reserved);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s20_freeing_waits_for_nothing() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let side = cuda::Stream::new(device).expect("a stream");
        let _in = side.enter().expect("entered");
        let x = Tensor::zeros([1000], device).expect("made");
        let (release, held) = std::sync::mpsc::channel::<()>();
        side.add_callback(move || _ = held.recv()).expect("enqueued");
        let y = (&x + &x).expect("enqueued");
        // The work above cannot run before `release` is dropped below: a drop that waited for it
        // would never return.
        drop((x, y));
        assert!(!side.query().expect("a question"));
        drop(release);
        side.synchronize().expect("the work ends");
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s21_allocated_and_reserved_and_their_peaks() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let allocated = || cuda::memory_allocated(device).expect("statistics");
        let peak = || cuda::max_memory_allocated(device).expect("statistics");
        assert_eq!((allocated(), peak()), (0, 0));
        let x = Tensor::zeros([MIB], device).expect("4 MiB");
        assert_eq!(allocated(), 4 * MIB as u64);
        let y = Tensor::zeros([MIB], device).expect("4 MiB");
        drop(x);
        assert_eq!((allocated(), peak()), (4 * MIB as u64, 8 * MIB as u64));
        assert!(cuda::memory_reserved(device).expect("statistics") >= peak());
        assert_eq!(
            cuda::memory_cached(device).expect("the older name"),
            cuda::memory_reserved(device).expect("statistics")
        );
        assert_eq!(
            cuda::max_memory_cached(device).expect("the older name"),
            cuda::max_memory_reserved(device).expect("statistics")
        );
        cuda::reset_peak_memory_stats(device).expect("reset");
        assert_eq!(peak(), 4 * MIB as u64);
        assert_eq!(cuda::memory_allocated(Device::cuda_at(1)).expect("another device"), 0);
        let summary = cuda::memory_summary(device).expect("a table");
        assert!(summary.contains("allocated memory"), "{summary}");
        assert!(!cuda::memory_snapshot().expect("a snapshot").segments.is_empty());
        drop(y);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s21_totals_are_counted_until_they_are_reset_and_those_of_page_locked_memory_apart() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let stats = || cuda::memory_stats(device).expect("statistics").allocated_bytes.all;
        drop(Tensor::zeros([MIB], device).expect("4 MiB"));
        let held = Tensor::zeros([MIB], device).expect("4 MiB");
        assert_eq!((stats().allocated, stats().freed), (8 * MIB as u64, 4 * MIB as u64));
        cuda::reset_accumulated_memory_stats(device).expect("reset");
        let after = [stats().allocated, stats().freed, stats().current, stats().peak];
        assert_eq!(after, [0, 0, 4 * MIB as u64, 4 * MIB as u64]);

        let pinned = Tensor::zeros([MIB], ()).and_then(|x| x.pin_memory()).expect("4 MiB");
        let host = || cuda::host_memory_stats().active_bytes;
        assert_eq!((host().current, host().peak), (4 * MIB as u64, 4 * MIB as u64));
        drop(pinned);
        cuda::reset_peak_host_memory_stats();
        cuda::reset_accumulated_host_memory_stats();
        assert_eq!((host().peak, host().allocated), (0, 0));
        cuda::empty_host_cache();
        assert_eq!(cuda::host_memory_stats().num_host_free, 1);
        assert_eq!(stats().current, 4 * MIB as u64, "a device's memory is another matter");
        drop(held);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s21_a_part_of_a_program_has_its_memory_in_a_pool() {
    isolate(|| {
        let device = Device::cuda_at(1);
        let pool = cuda::MemoryPool::new();
        let outside = Tensor::zeros([MIB], device).expect("4 MiB");
        let inside = cuda::with_memory_pool(&pool, || {
            cuda::with_memory_tag("inside", || Tensor::zeros([MIB], device))
        });
        let inside = inside.expect("it serves no graph").expect("4 MiB");
        let snapshot = pool.snapshot();
        let blocks = snapshot.segments.iter().flat_map(|segment| &segment.blocks);
        let tags: Vec<_> = blocks.filter_map(|block| block.tag.as_deref()).collect();
        assert_eq!(tags, ["inside"]);
        let reserved: u64 = snapshot.segments.iter().map(|segment| segment.total_size).sum();
        let stats = cuda::memory_stats(device).expect("statistics");
        assert_eq!(stats.reserved_bytes_by_private_pools[&pool.id()], reserved);
        drop((inside, outside));
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s22_empty_cache_returns_what_is_unused_and_nothing_else() {
    isolate(|| {
        let device = Device::cuda_at(2);
        let free = || cuda::mem_get_info(device).expect("a question").free;
        let kept = Tensor::ones([8 * MIB], device).expect("32 MiB");
        let before = free();
        let dropped = Tensor::zeros([8 * MIB], device).expect("32 MiB");
        cuda::synchronize(device).expect("done");
        drop(dropped);
        assert_eq!(before - free(), 32 * MIB as u64, "cached memory counts as used");
        cuda::empty_cache().expect("emptied");
        assert_eq!(free(), before);
        assert_eq!(
            kept.sum(()).and_then(|sum| sum.item::<f32>()).expect("intact"),
            8.0 * MIB as f32
        );
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn s23_out_of_memory_is_a_value_that_the_program_recovers_from() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let kept = Tensor::ones([4 * MIB], device).expect("16 MiB");
        let error = Tensor::zeros([64 * MIB], device).expect_err("256 MiB of 64 MiB");
        assert!(matches!(error, tensor::Error::Allocation(gpu_alloc::Error::OutOfMemory(_))));
        assert!(error.to_string().contains("cuda:0"), "{error}");
        let smaller = Tensor::ones([4 * MIB], device).expect("16 MiB are left");
        let sum = (&kept + &smaller).and_then(|x| x.sum(())?.item::<f32>()).expect("they work");
        assert_eq!(sum, 8.0 * MIB as f32);
    })
    .env("GPU_DRIVER", "software:1")
    .env("CUDA_SIM_MEMORY", "64MiB")
    .run();
}

/// The lowest gap of one segment, for whoever comes: streams share memory as much as they can.
#[derive(Debug, Default)]
struct FirstFit {
    segment: Option<Address>,
    /// The bytes of each block, by address.
    held: BTreeMap<u64, u64>,
}

const SEGMENT: u64 = 32 << 20;

impl Suballocator for FirstFit {
    fn allocate(
        &mut self,
        bytes: u64,
        _: StreamId,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        self.segment = self.segment.or_else(|| new_segment(SEGMENT));
        let Address(start) = self.segment?;
        let (mut at, end) = (start, start + SEGMENT);
        for (address, held) in self.held.iter().map(|block| (*block.0, *block.1)).chain([(end, 0)])
        {
            if address - at >= bytes {
                self.held.insert(at, bytes);
                return Some(Address(at));
            }
            at = address + held;
        }
        None
    }

    fn free(&mut self, address: Address, _: u64, _: StreamId) {
        self.held.remove(&address.0);
    }
}

#[test]
fn tensors_in_memory_of_a_programs_own_allocator_are_right_on_all_streams_and_free_of_races() {
    isolate(|| {
        let device = Device::cuda_at(0);
        let gpu = gpu_runtime::Device::get(0).expect("there are four");
        gpu_alloc::set_suballocator(gpu, FirstFit::default).expect("nothing is in use");
        let streams = [(); 3].map(|()| cuda::Stream::new(device).expect("a stream"));
        let checker = RaceChecker::start();
        let mut sums = Vec::new();
        for round in 0..30 {
            let _in = streams[round % 3].enter().expect("entered");
            let x = Tensor::full([1000 + round], 1.0, device).expect("made");
            let side = streams[(round + 1) % 3].enter().expect("entered");
            let y = (&x + &x).expect("enqueued");
            drop((x, side));
            let z = (&y * &y).expect("enqueued");
            sums.push((z.sum(()).expect("enqueued"), 4 * (1000 + round)));
        }
        for (sum, expected) in sums {
            assert_eq!(sum.item::<f32>().expect("a number"), expected as f32);
        }
        let races = checker.finish();
        assert!(races.is_empty(), "{races:?}");
        assert_eq!(cuda::memory_reserved(device).expect("statistics"), SEGMENT);
        let error =
            Tensor::zeros([SEGMENT as usize], device).expect_err("four times of what it has");
        assert!(error.is_out_of_memory(), "{error}");
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}
