//! What a loader costs per batch: allocations of the host, and calls of the driver.

use std::alloc::{GlobalAlloc, Layout, System};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sim::control::{Config, configure, counters};
use gpu_runtime::DriverChoice;
use parallel::{Collate, DataLoader, Dataset, get_worker_info};
use tensor::{Device, Tensor, cuda};

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is the system's allocator's, with the arguments that it got.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the conditions of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from there.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An image, without memory of its own, and its label.
#[derive(Collate)]
struct Image {
    pixels: [[f32; 16]; 16],
    label: usize,
}

struct Images;

/// The worker that has to wait with its next sample, if any.
static BLOCKED: AtomicUsize = AtomicUsize::new(NOBODY);
const NOBODY: usize = usize::MAX;

impl Dataset for Images {
    type Sample = Image;
    type Error = Infallible;

    fn len(&self) -> usize {
        80_000
    }

    fn get(&self, index: usize) -> Result<Image, Infallible> {
        while get_worker_info().is_some_and(|own| own.id == BLOCKED.load(Ordering::Relaxed)) {
            std::thread::yield_now();
        }
        Ok(Image { pixels: [[index as f32; 16]; 16], label: index })
    }
}

/// The batches of a window.
const WINDOW: usize = 100;

/// The number of allocations in each of some windows of batches, in steady state.
///
/// A worker that makes all batches ahead by itself needs more memory than one that shares them with
/// others, and chance decides when it does so first. So each of them does at the beginning, while
/// the other one has to wait, and the loop keeps more batches than it ever does later.
fn allocations(workers: usize, pin_memory: bool) -> Vec<usize> {
    let loader = DataLoader::builder(Images).batch_size(16).shuffle(1).in_order(false);
    let loader = loader.workers(workers).pin_memory(pin_memory).build().expect("a loader");
    let mut epoch = loader.iter();
    for blocked in 0..workers {
        BLOCKED.store(blocked, Ordering::Relaxed);
        let kept: Vec<_> = epoch.by_ref().take(10).collect();
        assert!(kept.iter().all(Result::is_ok));
        BLOCKED.store(NOBODY, Ordering::Relaxed);
    }
    let mut window = |_| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..WINDOW {
            let batch = epoch.next().expect("there are more").expect("a batch");
            assert_eq!(
                (batch.pixels.shape(), batch.pixels.is_pinned()),
                (&[16, 16, 16][..], pin_memory)
            );
        }
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    (0..41).map(&mut window).skip(1).collect()
}

/// The driver's calls so far whose names begin so.
fn calls(prefix: &str) -> u64 {
    let all = counters().calls;
    all.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, count)| count).sum()
}

/// One test, since all threads of the process are counted.
#[test]
fn in_steady_state_a_batch_allocates_nothing_and_is_copied_once() {
    configure(Config { devices: 1, ..Config::default() }).expect("nobody was before");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None }).expect("a driver");
    for (workers, pin_memory) in [(0, false), (0, true), (2, false), (2, true)] {
        let counts = allocations(workers, pin_memory);
        // On a busy machine workers make one or a few in thousands of batches, which is not one for each:
        // that would be 4000.
        let most = workers * 10;
        assert!(
            counts.iter().sum::<usize>() <= most,
            "{workers} workers, {pin_memory}: {counts:?}"
        );
    }

    let loader = DataLoader::builder(Images).batch_size(16).workers(2).pin_memory(true);
    let loader = loader.prefetch_to(Device::cuda()).build().expect("a loader");
    let mut epoch = loader.iter();
    let mut sums = |count: usize| -> Vec<Tensor> {
        epoch.by_ref().take(count).map(|batch| batch.expect("a batch").pixels).collect()
    };
    for pixels in sums(200) {
        assert!(pixels.is_cuda());
    }
    cuda::synchronize(Device::cuda()).expect("it works");
    let before = [calls("cuMemHostAlloc"), calls("cuMemcpyHtoD")];
    let copied = sums(200).len() as u64;
    let after = [calls("cuMemHostAlloc"), calls("cuMemcpyHtoD")];
    // One batch may be copied ahead at either end. A batch has two tensors.
    let copies = after[1] - before[1];
    assert!(copies.abs_diff(2 * copied) <= 2, "{copies} copies of {copied} batches");
    assert!(after[0] - before[0] <= 2, "page-locked memory is used again: {before:?}, {after:?}");
}
