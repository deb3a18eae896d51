//! Snapshots of this process's memory: of one pool, and in files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use gpu_alloc::snapshot::Action;
use gpu_alloc::{
    Error, MemoryPool, Snapshot, allocate, dump_snapshot, memory_snapshot, memory_stats,
    memory_tag, record_memory_history, with_memory_pool,
};
use test_support::isolate;

use crate::device_support::devices;

const MIB: usize = 1 << 20;

fn snapshots_show_one_pool_each(pools: [Arc<MemoryPool>; 2]) {
    let [here, there, ..] = devices();
    record_memory_history(Some(1000));
    let new = |tag, bytes| {
        let _tag = memory_tag(tag);
        [here, there]
            .map(|device| allocate(device, bytes, &device.default_stream().unwrap()).unwrap())
    };
    let outside = new("outside", 3 * MIB);
    let first = with_memory_pool(&pools[0], || new("first", 5 * MIB)).unwrap();
    let second = with_memory_pool(&pools[1], || new("second", 7 * MIB)).unwrap();
    drop(with_memory_pool(&pools[1], || new("freed", 1000)).unwrap());
    let of_device = |device| memory_stats(device).reserved_bytes_by_private_pools;
    let all = memory_snapshot();
    for (pool, tag, bytes) in [(&pools[0], "first", 5 * MIB), (&pools[1], "second", 7 * MIB)] {
        let snapshot = pool.snapshot();
        assert_eq!(snapshot.segments, all.clone().of_pool(pool.id()).segments);
        for device in [here, there] {
            let index = device.index();
            let of_it = || snapshot.segments.iter().filter(|segment| segment.device == index);
            let reserved = of_it().map(|segment| segment.total_size).sum::<u64>();
            assert_eq!(reserved, of_device(device)[&pool.id()]);
            let requested = of_it().map(|segment| segment.requested_size).sum::<u64>();
            assert_eq!(requested, bytes as u64);
            let events = &snapshot.device_traces[index];
            let allocations = events.iter().filter(|event| event.action == Action::Alloc);
            let tags: Vec<_> =
                allocations.filter_map(|event| event.user_metadata.clone()).collect();
            let expected: &[&str] = if tag == "first" { &["first"] } else { &["second", "freed"] };
            assert_eq!(tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), expected);
        }
        let held = snapshot.segments.iter().flat_map(|segment| &segment.blocks);
        assert!(held.filter_map(|block| block.tag.as_deref()).all(|held| held == tag));
    }
    drop((outside, first, second));
}

#[test]
fn the_snapshot_of_a_pool_has_its_memory_and_events_alone() {
    isolate(|| snapshots_show_one_pool_each([(); 2].map(|()| MemoryPool::new()))).run();
}

#[test]
fn the_snapshot_of_a_pool_has_its_memory_and_events_alone_with_pytorchs_policy_as_well() {
    let show = || snapshots_show_one_pool_each([(); 2].map(|()| MemoryPool::new()));
    isolate(show).env("SLUICE_ALLOCATOR", "pytorch").run();
}

#[test]
fn a_snapshot_is_written_in_one_call_for_pytorchs_tools_or_as_a_page() {
    isolate(|| {
        let [device, ..] = devices();
        let memory = allocate(device, 1000, &device.default_stream().unwrap()).unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let [pickle, page] = ["dumped.pickle", "dumped.html"].map(|name| folder.join(name));
        for _ in 0..2 {
            dump_snapshot(&pickle).unwrap();
            dump_snapshot(&page).unwrap();
        }
        let read = Snapshot::from_pickle(&fs::read(pickle).unwrap()).unwrap();
        assert_eq!(read, memory_snapshot());
        let page = fs::read_to_string(page).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("policy"));
        drop(memory);
    })
    .run();
}

#[test]
fn a_snapshot_that_cannot_be_written_is_an_error_that_names_the_file() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for path in [folder.join("no such folder/memory.pickle"), folder.clone()] {
        let snapshot = Snapshot::default();
        let errors =
            [dump_snapshot(&path), snapshot.write_html(&path), snapshot.write_pickle(&path)];
        for error in errors.map(Result::unwrap_err) {
            assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
            let Error::SnapshotFile { path: named, source } = error else { panic!("{error}") };
            assert_eq!(named, path);
            assert!(!source.to_string().is_empty());
        }
    }
}
