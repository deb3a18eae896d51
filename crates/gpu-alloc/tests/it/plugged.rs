//! Sources and policies that a program puts in place, pools of its own, and filled memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpu_alloc::policy::{Address, Limit, MemorySource, SourceError};
use gpu_alloc::{
    AllocatorPolicy, DeviceSource, Error, MemoryPool, allocate, empty_cache, fill_new_memory,
    memory_reserved, memory_snapshot, memory_stats, set_allocator_policy, set_memory_source,
};
use gpu_runtime::{Device, Stream};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, limit, read, vouched};

const MIB: usize = 1 << 20;

/// A source of plain segments that counts them.
#[derive(Debug)]
struct CountingSource(DeviceSource, Arc<AtomicU64>);

impl MemorySource for CountingSource {
    type Error = gpu_runtime::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.allocate(bytes)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.1.fetch_sub(1, Ordering::Relaxed);
        self.0.release(address, bytes);
    }
}

#[test]
fn a_program_gives_an_allocator_another_source_before_its_first_use() {
    isolate(|| {
        let [here, there, ..] = devices();
        let count = Arc::new(AtomicU64::new(0));
        set_memory_source(
            here,
            vouched(CountingSource(DeviceSource::new(here), Arc::clone(&count))),
        )
        .unwrap();
        let stream = here.default_stream().unwrap();
        let memory = allocate(here, 1000, &stream).unwrap();
        let other = allocate(there, 1000, &there.default_stream().unwrap()).unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        fill(&stream, &memory, 7);
        assert!(read(&stream, &memory).iter().all(|byte| *byte == 7));
        let segments = memory_snapshot().segments;
        let kinds: Vec<_> = segments.iter().map(|segment| segment.is_expandable).collect();
        assert_eq!(kinds, [false, true], "this source has no virtual memory, the driver has");
        let late = set_memory_source(here, DeviceSource::new(here));
        assert!(matches!(late, Err(Error::AllocatorInUse)));
        assert!(matches!(
            set_allocator_policy(AllocatorPolicy::Stitched),
            Err(Error::AllocatorInUse)
        ));
        drop((memory, other));
        here.synchronize().unwrap();
        empty_cache().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 0);
    })
    .run();
}

#[test]
fn what_a_source_refuses_is_out_of_memory() {
    isolate(|| {
        let [device, ..] = devices();
        let source = Limit::new(DeviceSource::new(device), Some(8 * MIB as u64));
        set_memory_source(device, source).unwrap();
        let stream = device.default_stream().unwrap();
        let held = allocate(device, 7 * MIB, &stream).unwrap();
        let refused = allocate(device, 7 * MIB, &stream).unwrap_err();
        assert!(matches!(refused, Error::OutOfMemory(_)), "{refused}");
        drop(held);
        allocate(device, 7 * MIB, &stream).unwrap();
    })
    .run();
}

fn pool_of(device: Device, pool: &MemoryPool) -> u64 {
    memory_stats(device).reserved_bytes_by_private_pools.get(&pool.id()).copied().unwrap_or(0)
}

/// Small requests take `page` bytes from the driver.
fn a_pool_serves_those_who_are_in_it(page: usize, keeps: bool) {
    let [device, other_device, ..] = devices();
    let stream = device.default_stream().unwrap();
    let (pool, inner) = (MemoryPool::new(), MemoryPool::new());
    let new = || allocate(device, 600, &stream).unwrap();
    let outside = new();
    let first = {
        let _in_pool = pool.enter().unwrap();
        let memory = new();
        drop(memory);
        let memory = new();
        {
            let _in_inner = inner.enter().unwrap();
            drop(new());
        }
        let again = new();
        assert_ne!(again.ptr(), memory.ptr());
        let elsewhere = std::thread::spawn(move || {
            allocate(device, 3 * MIB, &device.default_stream().unwrap()).unwrap().bytes()
        });
        assert_eq!(elsewhere.join().unwrap(), 3 * MIB);
        let far = allocate(other_device, 600, &other_device.default_stream().unwrap()).unwrap();
        assert!(pool_of(other_device, &pool) > 0);
        drop(far);
        memory
    };
    assert_eq!([&pool, &inner].map(|pool| pool_of(device, pool)), [page as u64; 2]);
    let ptr = first.ptr();
    drop(first);
    assert_ne!(new().ptr(), ptr, "outside nobody gets what is free in the pool");
    {
        let _in_pool = pool.enter().unwrap();
        assert_eq!(new().ptr(), ptr);
    }
    empty_cache().unwrap();
    let kept = if keeps { page as u64 } else { 0 };
    assert_eq!(pool_of(device, &pool), kept, "PyTorch's pools keep their memory");
    drop((pool, inner));
    device.synchronize().unwrap();
    empty_cache().unwrap();
    assert_eq!(memory_reserved(device), page);
    drop(outside);
}

#[test]
fn a_programs_pool_serves_those_who_are_in_it() {
    isolate(|| a_pool_serves_those_who_are_in_it(2 * MIB, false)).run();
}

#[test]
fn a_programs_pool_serves_those_who_are_in_it_by_pytorchs_policy_as_well() {
    let serves = || a_pool_serves_those_who_are_in_it(2 * MIB, true);
    isolate(serves).env("SLUICE_ALLOCATOR", "pytorch").run();
}

#[test]
fn what_is_free_in_a_programs_pool_serves_all_before_a_request_is_refused_and_the_other_way_round()
{
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        limit(device, 64 * MIB);
        let pool = MemoryPool::new();
        let new = |bytes, stream: &Stream| allocate(device, bytes, stream).unwrap();
        let mut in_pool = {
            let _inside = pool.enter().unwrap();
            [(); 6].map(|()| Some(new(10 * MIB, &main)))
        };
        in_pool.iter_mut().step_by(2).for_each(|memory| drop(memory.take()));
        {
            let _inside = pool.enter().unwrap();
            drop(new(30 * MIB, &main));
            drop(new(30 * MIB, &side));
        }
        drop(new(30 * MIB, &main));
        in_pool = [const { None }; 6];
        {
            let _inside = pool.enter().unwrap();
            drop(new(60 * MIB, &side));
        }
        drop((in_pool, new(60 * MIB, &main)));
        let stats = memory_stats(device);
        assert_eq!(stats.num_ooms, 0);
    })
    .run();
}

#[test]
fn threads_in_a_pool_and_beside_it_have_each_request_counted_once() {
    isolate(|| {
        let [device, ..] = devices();
        let pool = MemoryPool::new();
        let rounds = 300;
        let work = &|in_pool: bool| {
            let stream = Stream::new(device).unwrap();
            let _inside = in_pool.then(|| pool.enter().unwrap());
            for round in 0..rounds {
                let first = allocate(device, 1000, &stream).unwrap();
                let second = allocate(device, 3000 + round % 7 * 512, &stream).unwrap();
                assert_ne!(first.ptr(), second.ptr());
                drop(first);
                if round % 50 == 0 {
                    assert!(memory_stats(device).allocation.all.current > 0);
                }
            }
        };
        std::thread::scope(|scope| {
            for in_pool in [true, false, true, false] {
                scope.spawn(move || work(in_pool));
            }
        });
        let stats = memory_stats(device).allocation.all;
        assert_eq!((stats.allocated, stats.freed), (8 * rounds as u64, 8 * rounds as u64));
        assert_eq!(stats.current, 0);
        drop(pool);
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 0);
    })
    .run();
}

/// A pool with 30 MiB of a stream's that were freed, and that work on another one uses until the gate
/// is opened.
fn pool_of_freed_memory(stream: &Stream, user: &Stream) -> (Arc<MemoryPool>, Gate) {
    let pool = MemoryPool::new();
    let memory = {
        let _inside = pool.enter().unwrap();
        allocate(stream.device(), 30 * MIB, stream).unwrap()
    };
    let gate = Gate::close(user);
    fill(user, &memory, 1);
    drop(memory);
    (pool, gate)
}

#[test]
fn what_a_programs_pool_lent_out_comes_after_the_work_that_used_it_there() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        limit(device, 32 * MIB);
        let (_pool, gate) = pool_of_freed_memory(&main, &side);
        let next = allocate(device, 30 * MIB, &main).unwrap();
        fill(&main, &next, 2);
        gate.open();
        assert!(read(&main, &next).iter().all(|byte| *byte == 2));
    })
    .run();
}

#[test]
fn a_capture_gets_memory_of_a_programs_pool_only_when_no_work_uses_it() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        limit(device, 32 * MIB);
        let (_pool, gate) = pool_of_freed_memory(&side, &side);
        let opener = std::thread::spawn(move || {
            // Without this, the capture would have got nothing.
            while memory_stats(device).num_alloc_retries == 0 {
                std::thread::yield_now();
            }
            gate.open();
        });
        let captured = main.capture(|_| {
            let memory = allocate(device, 20 * MIB, &main)?;
            assert!(side.query().unwrap(), "captured work cannot wait for it");
            fill(&main, &memory, 2);
            Ok::<_, Error>(memory)
        });
        let (graph, memory) = captured.unwrap();
        opener.join().unwrap();
        graph.instantiate().unwrap().launch(&main).unwrap();
        assert!(read(&main, &memory).iter().all(|byte| *byte == 2));
    })
    .run();
}

#[test]
fn memory_outlives_the_pool_that_it_came_from() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let pool = MemoryPool::new();
        let memory = {
            let _inside = pool.enter().unwrap();
            drop(pool);
            allocate(device, 1000, &main).unwrap()
        };
        let gate = Gate::close(&side);
        fill(&side, &memory, 1);
        drop(memory);
        let next = allocate(device, 1000, &main).unwrap();
        fill(&main, &next, 2);
        gate.open();
        assert!(read(&main, &next).iter().all(|byte| *byte == 2));
    })
    .run();
}

#[test]
fn a_pool_serves_graphs_or_a_program() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = Stream::new(device).unwrap();
        let (graphs, program) = (MemoryPool::new(), MemoryPool::new());
        drop(program.enter().unwrap());
        stream
            .capture(|capture| {
                assert!(matches!(program.serve(capture), Err(Error::PoolOfProgram)));
                graphs.serve(capture)
            })
            .unwrap();
        assert!(matches!(graphs.enter(), Err(Error::PoolOfGraphs)));
    })
    .run();
}

#[test]
fn new_memory_is_filled_after_its_last_owners_work_and_before_its_new_ones() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let _poison = fill_new_memory(|stream, start, bytes| {
            // SAFETY: the memory is new, and has that many bytes.
            unsafe { stream.enqueue_fill(start, 0xa5, bytes) }
        });
        let memory = allocate(device, 1000, &main).unwrap();
        assert!(read(&main, &memory).iter().all(|byte| *byte == 0xa5));
        let gate = Gate::close(&main);
        fill(&main, &memory, 1);
        drop(memory);
        let next = allocate(device, 1000, &main).unwrap();
        let third = allocate(device, 1000, &main).unwrap();
        fill(&side, &third, 3);
        assert!(!side.query().unwrap(), "it comes after the fill of new memory");
        gate.open();
        assert!(read(&side, &next).iter().all(|byte| *byte == 0xa5));
        assert!(read(&side, &third).iter().all(|byte| *byte == 3));
    })
    .run();
}
