//! The allocators: pools, snapshots, what is plugged in.

use gpu_alloc::policy::{Pool, PytorchOptions};
use gpu_alloc::snapshot::Action;
use gpu_alloc::{
    AllocatorPolicy, DeviceSource, MemoryPool, Snapshot, fill_new_memory, observe_out_of_memory,
    record_memory_history,
};
use tensor::Tensor;

use crate::calls::entry::{CallEntry, entries};

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "gpu_alloc::MemoryPool::enter", "gpu_alloc::with_memory_pool", "gpu_alloc::MemoryPool::serve" => |d| {
        let (pool, stream) = (MemoryPool::new(), d.stream()?);
        let inside = pool.enter().ok()?;
        let held = d.device_memory();
        drop(inside);
        let capture = stream.begin_capture(d.capture_mode()?).ok()?;
        let _ = pool.serve(capture.capture());
        let captured = d.device_memory();
        let _ = gpu_alloc::with_memory_pool(&pool, || ());
        drop((captured, capture.end()));
        drop((pool, held));
        Some(())
    };
    "gpu_alloc::Snapshot::from_pickle" => |d| {
        record_memory_history(Some(10));
        let held = d.device_memory();
        let mut bytes = gpu_alloc::memory_snapshot().to_pickle();
        for _ in 0..d.rng().below(4) {
            let at = d.rng().below(bytes.len());
            bytes[at] = d.byte()?;
        }
        if d.rng().one_in(3) {
            bytes.truncate(d.rng().below(bytes.len()));
        }
        drop(held);
        let read = Snapshot::from_pickle(&bytes).ok()?;
        drop((read.to_html(), read.to_trace(d.size()?), read.to_pickle()));
        Some(())
    };
    "gpu_alloc::Snapshot::write_html", "gpu_alloc::Snapshot::write_pickle",
    "gpu_alloc::dump_snapshot", "gpu_alloc::Snapshot::of_pool" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let name = d.text()?;
        let paths = [folder.path().to_owned(), folder.path().join("a.html"), folder.path().join(name)];
        let path = &paths[d.rng().below(3)];
        let snapshot = gpu_alloc::memory_snapshot();
        let _ = snapshot.write_html(path);
        let _ = snapshot.write_pickle(path);
        let _ = gpu_alloc::dump_snapshot(path);
        drop(snapshot.of_pool(MemoryPool::new().id()));
        Some(())
    };
    "gpu_alloc::PoolStatistics::of" => |d| {
        let pool = if d.flag()? { Pool::Small } else { Pool::Large };
        let _ = gpu_alloc::memory_stats(d.cuda()?).allocated_bytes.of(pool).current;
        Some(())
    };
    "gpu_alloc::snapshot::Action::of_name" => |d| {
        let _ = Action::of_name(&d.text()?).name();
        Some(())
    };
    "gpu_alloc::fill_new_memory" => |d| {
        let fill = fill_new_memory(|_, _, _| Ok(()));
        let shape = d.shape()?;
        d.look(Tensor::empty(shape, tensor::Device::cuda()).ok());
        drop(fill);
        Some(())
    };
    "gpu_alloc::observe_out_of_memory" => |d| {
        let observation = observe_out_of_memory(|error| drop((error.to_string(), error.advice())));
        let stream = d.stream()?;
        for bytes in [60 << 20, 90 << 20, d.size()?] {
            drop(gpu_alloc::allocate(stream.device(), bytes, &stream));
        }
        drop(observation);
        Some(())
    };
    // They are refused, since the allocators are in use.
    "gpu_alloc::set_allocator_policy", "gpu_alloc::set_memory_source" => |d| {
        let options: PytorchOptions = d.text()?.parse().unwrap_or_default();
        let _ = gpu_alloc::set_allocator_policy(AllocatorPolicy::Pytorch(options));
        let _ = gpu_alloc::set_memory_source(d.cuda()?, DeviceSource::new(d.cuda()?));
        Some(())
    };
};
