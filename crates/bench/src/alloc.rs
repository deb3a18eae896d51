//! Getting memory and giving it back: from the caching allocators, and from the driver.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use gpu_alloc::DeviceSource;
use gpu_alloc::policy::{Lending, Policy as _, Stitched, StreamCaches};
use gpu_runtime::{DeviceAllocation, HostAllocation, Stream};

use crate::error::{Error, Result};
use crate::harness::Bench;
use crate::metric::Metric::Nanoseconds;
use crate::place::BenchTarget;

const SIZES: [(&str, usize); 3] = [("512B", 512), ("1MiB", 1 << 20), ("32MiB", 32 << 20)];

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let gpu = place.gpu()?;
    let stream = gpu.current_stream()?;
    for (size, bytes) in SIZES {
        let name = |source: &str| format!("alloc/{source}_{size}");
        let cached = || gpu_alloc::allocate(gpu, bytes, &stream);
        bench.case(place, &name("cached"), Nanoseconds, cached)?;
        bench.case(place, &name("driver"), Nanoseconds, || DeviceAllocation::new(gpu, bytes))?;
        let pinned = || gpu_alloc::allocate_pinned(bytes);
        bench.case(place, &name("pinned_cached"), Nanoseconds, pinned)?;
        bench.case(place, &name("pinned_driver"), Nanoseconds, || HostAllocation::new(bytes))?;
    }
    let streams = [Stream::new(gpu)?, Stream::new(gpu)?];
    let pairs = |thread: usize, calls: u32| {
        (0..calls).try_for_each(|_| gpu_alloc::allocate(gpu, 512, &streams[thread]).map(drop))?;
        Ok(())
    };
    two_threads(bench, "alloc/two_threads_cached", pairs)?;
    below_the_owners(bench, place)
}

/// The time of the allocator itself, without owners of memory: the same as other libraries' raw
/// calls do. It can be used by several threads, and counts everything that its statistics show.
fn below_the_owners(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    if !bench.wants_any(&["alloc/pair_512B", "alloc/pair_1MiB", "alloc/pair_32MiB"])
        && !bench.wants("alloc/two_threads")
    {
        return Ok(());
    }
    let mut source = DeviceSource::new(place.gpu()?);
    let mut policy = Stitched::<u32>::new();
    // Both streams hold blocks of all sizes at once, so that to do so again is no new peak.
    let mut held = Vec::new();
    for (stream, (_, bytes)) in (0..2).flat_map(|stream| SIZES.map(|size| (stream, size))) {
        let block = policy.allocate(&mut source, bytes as u64, stream.into());
        held.push(block.map_err(|_| Error::Allocator("there is too little memory"))?);
    }
    for block in held {
        let freed = policy.free(block, &[]);
        freed.map_err(|_| Error::Allocator("the policy does not know its block"))?;
    }
    let (caches, mut lending) = (StreamCaches::<u32>::new(), Lending::new(policy));
    if !(0..2).all(|stream| caches.lend(&mut lending, stream, |_| ())) {
        return Err(Error::Allocator("it has no caches for two streams"));
    }
    let pair = |stream, bytes| {
        let block = caches.allocate(stream, bytes, |(), _| ());
        let freed = block.map(|block| caches.free(block, &[(stream, 1)]));
        freed
            .and_then(std::result::Result::ok)
            .ok_or(Error::Allocator("nothing is lent to the stream"))
    };
    for (size, bytes) in SIZES {
        let name = format!("alloc/pair_{size}");
        bench.case(place, &name, Nanoseconds, || pair(0, bytes as u64))?;
    }
    let pairs = |thread: usize, calls| (0..calls).try_for_each(|_| pair(thread as u32, 512));
    two_threads(bench, "alloc/two_threads", pairs)?;
    caches.recall(&mut lending, |_| ()).release_cached(&mut source);
    Ok(())
}

/// The throughput of two threads, each on a stream of its own, in units of that of one.
fn two_threads(
    bench: &mut Bench,
    case: &str,
    pairs: impl Fn(usize, u32) -> Result<()> + Sync,
) -> Result<()> {
    if !bench.wants(case) {
        return Ok(());
    }
    let alone = |calls| {
        let start = Instant::now();
        pairs(0, calls)?;
        Ok(start.elapsed())
    };
    let start = Barrier::new(2);
    let timed = |thread, calls| -> Result<Duration> {
        start.wait();
        let begin = Instant::now();
        pairs(thread, calls)?;
        Ok(begin.elapsed())
    };
    let both = |calls| {
        let (here, there) = thread::scope(|scope| {
            let there = scope.spawn(|| timed(1, calls));
            (timed(0, calls), there.join())
        });
        let there = there.map_err(|_| Error::Allocator("a thread has panicked"))??;
        Ok(here?.max(there) / 2)
    };
    bench.best_against(case, alone, both)
}
