//! PyTorch's own functions for snapshots, on ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_alloc::snapshot::{Action, BlockState};
use gpu_alloc::{
    Snapshot, allocate, allocate_pinned, empty_cache, memory_snapshot, memory_tag,
    record_memory_history,
};
use gpu_runtime::Stream;
use test_support::{isolate, skipped};

use crate::device_support::{Gate, devices, fill};

const MIB: usize = 1 << 20;

/// A snapshot as PyTorch writes one: `tests/pytorch/make_snapshot.py`.
const REFERENCE: &[u8] = include_bytes!("../pytorch/snapshot.pickle");

/// What PyTorch's functions say of a snapshot, as JSON in one line; nothing where there is no
/// PyTorch.
fn viewed(test: &str, pickle: &[u8]) -> Option<String> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.pickle"));
    fs::write(&file, pickle).expect("the folder for tests' files can be written to");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch/read_snapshot.py");
    let Ok(output) = Command::new("python3").arg(script).arg(file).output() else {
        skipped(test, "there is no Python");
        return None;
    };
    if output.status.code() == Some(3) {
        skipped(test, "there is no PyTorch");
        return None;
    }
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "PyTorch does not read it:\n{error}");
    let said = String::from_utf8(output.stdout).expect("it is JSON");
    said.lines().last().map(str::to_owned)
}

#[test]
fn pytorch_reads_our_snapshots() {
    isolate(|| {
        let [device, other, ..] = devices();
        record_memory_history(Some(1000));
        let pinned = allocate_pinned(1000).unwrap();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let weights = {
            let _tag = memory_tag("weights");
            allocate(device, 21 * MIB, &main).unwrap()
        };
        let far = allocate(other, 1000, &other.default_stream().unwrap()).unwrap();
        allocate(device, 1 << 50, &side).unwrap_err();
        let activations = allocate(device, 3 * MIB, &side).unwrap();
        let gate = Gate::close(&main);
        fill(&main, &activations, 1);
        drop(activations);
        let snapshot = memory_snapshot();
        assert!(snapshot.host.is_some(), "PyTorch's functions pass over it");
        gate.open();
        drop((weights, far, pinned));
        empty_cache().unwrap();
        let Some(said) = viewed("pytorch_reads_our_snapshots", &snapshot.to_pickle()) else {
            return;
        };
        let reserved: u64 = snapshot.segments.iter().map(|segment| segment.total_size).sum();
        let expected = [
            "\"segments: 3\"".to_owned(),
            format!("total_reserved: {:.1}MiB", reserved as f64 / MIB as f64),
            "stream_0;active_allocated;pytorch_viewer.rs:".to_owned(),
            "active_awaiting_free".to_owned(),
            "cudaMalloc(".to_owned(),
            "raise OutOfMemoryError # 1.0PiB requested".to_owned(),
            "Device 1 ---".to_owned(),
            "\"unreadable\": []".to_owned(),
        ];
        for expected in expected {
            assert!(said.contains(&expected), "{expected} is not in {said}");
        }
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn pytorch_reads_the_same_in_its_snapshot_and_in_our_copy_of_it() {
    let test = "pytorch_reads_the_same_in_its_snapshot_and_in_our_copy_of_it";
    let mut reference = Snapshot::from_pickle(REFERENCE).unwrap();
    // These are shown with all their fields, and ours has fewer.
    for trace in &mut reference.device_traces {
        trace.retain(|entry| !matches!(entry.action, Action::SegmentMap | Action::Snapshot));
    }
    let Some(ours) = viewed(test, &reference.to_pickle()) else { return };
    let theirs = viewed(test, REFERENCE).expect("there was a PyTorch just now");
    let figures = |said: &str| {
        let parts = said.split("\"memory\": ").nth(1).expect("it says so");
        parts.split("\"unreadable\"").next().expect("there is a first").to_owned()
    };
    assert_eq!(figures(&ours), figures(&theirs));
    let (segments, _) = ours.split_once("\"trace\"").expect("it says so");
    assert!(theirs.starts_with(segments), "{theirs} does not begin as {segments}");
}

#[test]
fn a_snapshot_of_pytorchs_is_read_with_all_its_fields() {
    let snapshot = Snapshot::from_pickle(REFERENCE).unwrap();
    let [small, large, growing] = &snapshot.segments[..] else { panic!("there are three") };
    assert_eq!((small.total_size, small.allocated_size), (2 << 20, 1024));
    assert_eq!(
        (&*small.blocks[0].frames[0].filename, small.blocks[0].frames[0].line),
        ("/src/data.py", 7)
    );
    assert_eq!(
        (large.stream, large.blocks[0].state),
        (0x5581_e3a0_f2c0, BlockState::ActiveAwaitingFree)
    );
    assert_eq!((growing.device, growing.segment_pool_id, growing.is_expandable), (1, (0, 3), true));
    assert_eq!(growing.frames.len(), 2);
    let [first, second] = &snapshot.device_traces[..] else { panic!("there are two") };
    assert_eq!(first[3].user_metadata.as_deref(), Some("activations"));
    assert_eq!((first[4].action, first[5].user_metadata.as_deref()), (Action::Other, None));
    assert_eq!((first[6].action, first[6].device_free), (Action::Oom, Some(3 << 20)));
    assert_eq!((second[2].action, second[2].pool_id), (Action::Alloc, (0, 3)));
    assert!(snapshot.devices.is_empty());
}

#[test]
fn a_history_of_pytorchs_becomes_an_allocation_trace() {
    let snapshot = Snapshot::from_pickle(REFERENCE).unwrap();
    let (held, refused) = (8 * MIB - 40, 1_u64 << 40);
    let before = "a 0 1000 0\na 1 512 0\n";
    let during = format!("f 1\na 1 {held} 1\nr 1 2\nf 1\n# out of memory: {refused} bytes\n");
    assert_eq!(snapshot.to_trace(0), format!("{before}{during}"));
    assert_eq!(snapshot.to_trace(1), format!("a 0 {} 0\n", 40 * MIB));
}
