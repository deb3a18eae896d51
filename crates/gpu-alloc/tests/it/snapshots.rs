//! Snapshots in PyTorch's format: written, read, and turned into allocation traces.

use std::sync::Arc;

use gpu_alloc::snapshot::{
    Action, BlockState, DeviceSnapshot, Frame, Frames, HostSnapshot, OutOfMemoryMoment, Pool,
    Segment, Snapshot, SnapshotBlock, SnapshotError, TraceEntry,
};
use proptest::prelude::*;

fn frames() -> impl Strategy<Value = Frames> {
    let frame = ("[a-z]{0,3}", 0..300_u64, "[a-zß]{0,3}");
    prop::collection::vec(frame, 0..3).prop_map(|frames| {
        let frame = |(file, line, name): (String, u64, String)| Frame {
            filename: file.into(),
            line,
            name: name.into(),
        };
        frames.into_iter().map(frame).collect()
    })
}

fn tag() -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of("[a-z]{1,300}").prop_map(|tag| tag.map(Into::into))
}

/// Numbers of every length.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
}

fn state() -> impl Strategy<Value = BlockState> {
    prop_oneof![
        Just(BlockState::ActiveAllocated),
        Just(BlockState::ActiveAwaitingFree),
        Just(BlockState::Inactive),
    ]
}

fn block() -> impl Strategy<Value = SnapshotBlock> {
    let age = (prop::option::of(number()), prop::option::of(number()));
    (number(), number(), number(), state(), frames(), tag(), age).prop_map(
        |(address, size, requested_size, state, frames, tag, (age, time_us))| SnapshotBlock {
            address,
            size,
            requested_size,
            state,
            frames,
            tag,
            age,
            time_us,
        },
    )
}

fn segment() -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec(block(), 0..5);
    let pool = prop_oneof![Just(Pool::Small), Just(Pool::Large)];
    let sizes = prop::array::uniform5(number());
    (0..9_usize, sizes, number(), pool, (number(), number()), any::<bool>(), frames(), blocks)
        .prop_map(|(device, sizes, stream, segment_type, id, is_expandable, frames, blocks)| {
            let [address, total_size, allocated_size, active_size, requested_size] = sizes;
            Segment {
                device,
                address,
                total_size,
                allocated_size,
                active_size,
                requested_size,
                stream,
                segment_type,
                segment_pool_id: id,
                is_expandable,
                frames,
                blocks,
            }
        })
}

fn action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
        Action::Oom,
        Action::Snapshot,
        Action::Other,
    ])
}

/// With few addresses, so that they come again.
fn entry() -> impl Strategy<Value = TraceEntry> {
    (action(), 1..6_u64, number(), 0..4_u64, number(), frames(), tag()).prop_map(
        |(action, place, size, stream, time_us, frames, user_metadata)| TraceEntry {
            action,
            address: if action == Action::Oom { 0 } else { place * 512 },
            size,
            stream,
            pool_id: (0, 0),
            time_us,
            frames,
            user_metadata,
            device_free: (action == Action::Oom).then_some(size / 2),
            is_in_use: action == Action::FreeRequested && size % 2 == 0,
            in_use_until_us: (action == Action::FreeRequested && size % 4 == 0).then_some(time_us),
        },
    )
}

fn device() -> impl Strategy<Value = DeviceSnapshot> {
    let moment = (number(), "[a-z\n]{0,20}", prop::collection::vec(segment(), 0..2));
    (0..9_usize, number(), prop::option::of(number()), prop::option::of(moment)).prop_map(
        |(device, total, limit, moment)| {
            let of = |(time_us, report, segments)| OutOfMemoryMoment { time_us, report, segments };
            DeviceSnapshot {
                device,
                name: format!("device {device}"),
                total,
                free: total / 2,
                policy: format!("policy {}", total % 3),
                limit,
                statistics: vec![("num_ooms".into(), total), ("segment.all.peak".into(), 1)],
                dropped_events: total / 3,
                out_of_memory: moment.map(of),
            }
        },
    )
}

fn host() -> impl Strategy<Value = HostSnapshot> {
    let segments = prop::collection::vec(segment(), 0..3);
    (segments, prop::collection::vec(entry(), 0..10), device()).prop_map(
        |(segments, trace, state)| {
            let mut host = HostSnapshot::default();
            (host.segments, host.trace, host.state) = (segments, trace, state);
            host
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        segments in prop::collection::vec(segment(), 0..4),
        device_traces in prop::collection::vec(prop::collection::vec(entry(), 0..20), 0..3),
        devices in prop::collection::vec(device(), 0..3),
        host in prop::option::of(host()),
    ) {
        let mut snapshot = Snapshot::default();
        (snapshot.segments, snapshot.device_traces) = (segments, device_traces);
        (snapshot.devices, snapshot.host) = (devices, host);
        prop_assert_eq!(Snapshot::from_pickle(&snapshot.to_pickle()), Ok(snapshot));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_bytes(&bytes);
        try_bytes(&[&[0x80, 4], &bytes[..]].concat());
    }

    #[test]
    fn a_damaged_snapshot_is_an_error_or_another_snapshot(
        segments in prop::collection::vec(segment(), 1..3),
        trace in prop::collection::vec(entry(), 0..10),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut snapshot = Snapshot::default();
        (snapshot.segments, snapshot.device_traces) = (segments, vec![trace]);
        let mut bytes = snapshot.to_pickle();
        prop_assert!(Snapshot::from_pickle(&bytes[..end.index(bytes.len())]).is_err());
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        try_bytes(&bytes);
    }

    /// The rules of traces: an id is free when it is allocated, and live when it is named.
    #[test]
    fn a_trace_is_well_formed_whatever_was_recorded(
        segments in prop::collection::vec(segment(), 0..3),
        trace in prop::collection::vec(entry(), 0..40),
    ) {
        let mut snapshot = Snapshot::default();
        (snapshot.segments, snapshot.device_traces) = (segments, vec![trace]);
        let mut live = std::collections::BTreeSet::new();
        for line in snapshot.to_trace(0).lines() {
            let words: Vec<_> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            match words[0] {
                "a" => prop_assert!(live.insert(number(1)) && number(2) > 0 && number(3) < 100),
                "f" => prop_assert!(live.remove(&number(1))),
                "r" => prop_assert!(live.contains(&number(1)) && number(2) > 0),
                "s" => prop_assert!(number(1) > 0),
                word => prop_assert_eq!(word, "#"),
            }
        }
    }
}

/// Any bytes are refused, or make a snapshot that is little larger than they are, that is the same
/// when it is written and read again, and that can be shown and replayed.
///
/// # Panics
/// When they do not.
pub(crate) fn try_bytes(bytes: &[u8]) {
    let Ok(snapshot) = Snapshot::from_pickle(bytes) else { return };
    let written = snapshot.to_pickle();
    assert!(written.len() <= 4096 + 1024 * bytes.len(), "{} bytes", written.len());
    match Snapshot::from_pickle(&written) {
        Ok(again) => assert_eq!(again, snapshot),
        Err(error) => panic!("what was written cannot be read: {error}"),
    }
    let devices = snapshot.device_traces.len();
    (0..devices.min(3)).for_each(|device| drop(snapshot.to_trace(device)));
    drop(snapshot.to_html());
}

fn entry_of(action: Action, address: u64, size: u64, stream: u64) -> TraceEntry {
    TraceEntry {
        action,
        address,
        size,
        stream,
        pool_id: (0, 0),
        time_us: 0,
        frames: Frames::default(),
        user_metadata: None,
        device_free: None,
        is_in_use: false,
        in_use_until_us: None,
    }
}

#[test]
fn a_free_that_waited_waits_in_the_trace_as_long() {
    use Action::{Alloc, FreeCompleted, FreeRequested};
    let mut snapshot = Snapshot::default();
    snapshot.device_traces = vec![vec![
        entry_of(FreeRequested, 8, 70, 0),
        entry_of(FreeCompleted, 8, 70, 0),
        entry_of(Alloc, 1, 10, 900),
        entry_of(FreeRequested, 1, 10, 900),
        entry_of(Alloc, 2, 20, 0),
        entry_of(FreeCompleted, 1, 10, 900),
        entry_of(Alloc, 1, 30, 900),
    ]];
    let trace = snapshot.to_trace(0);
    let expected = "a 0 70 0\nf 0\na 0 10 1\nr 0 2\nf 0\na 0 20 0\ns 2\na 1 30 1\n";
    assert_eq!(trace, expected);
    assert_eq!(snapshot.to_trace(7), "");
}

#[test]
fn memory_that_was_in_use_after_its_free_waits_in_the_trace_until_that_was_over() {
    use Action::{Alloc, FreeCompleted, FreeRequested};
    let at = |time_us, entry| TraceEntry { time_us, ..entry };
    let freed = |time_us, until| TraceEntry {
        is_in_use: true,
        in_use_until_us: until,
        ..at(time_us, entry_of(FreeRequested, 1, 10, 0))
    };
    let mut snapshot = Snapshot::default();
    snapshot.device_traces = vec![vec![
        at(1, entry_of(Alloc, 1, 10, 0)),
        freed(2, Some(7)),
        at(2, entry_of(FreeCompleted, 1, 10, 0)),
        at(5, entry_of(Alloc, 1, 10, 0)),
        freed(6, None),
        at(6, entry_of(FreeCompleted, 1, 10, 0)),
        at(8, entry_of(Alloc, 2, 20, 0)),
    ]];
    let expected = "a 0 10 0\nr 0 1\nf 0\na 0 10 0\nr 0 2\nf 0\ns 1\na 0 20 0\n";
    assert_eq!(snapshot.to_trace(0), expected);
}

#[test]
fn what_would_make_objects_is_refused() {
    // What Python's pickle makes of `print`: protocol 2, GLOBAL, "builtins", "print", STOP.
    let error = Snapshot::from_pickle(b"\x80\x02cbuiltins\nprint\n.").unwrap_err();
    assert!(error.to_string().contains("asks for `builtins.print`"), "{error}");
    let error = Snapshot::from_pickle(b"PK\x03\x04").unwrap_err();
    assert!(error.to_string().contains("not a pickle"), "{error}");
    assert_eq!(
        Snapshot::from_pickle(b"\x80\x04}."),
        Err(SnapshotError::Field { field: "segments" })
    );
}

#[test]
fn a_long_text_is_not_copied_for_each_device_that_refers_to_it() {
    let mut bytes = b"\x80\x04}\x94(\x8c\x08segments]\x94\x8c\x07devices]\x94(".to_vec();
    // A device whose name has 60 000 letters.
    bytes.extend(b"}\x94(\x8c\x06deviceK\x00\x8c\x04nameX");
    bytes.extend(60_000_u32.to_le_bytes());
    bytes.extend(b"x".repeat(60_000));
    bytes.push(b'u');
    let with_devices = |count| [&bytes, &b"h\x03".repeat(count)[..], b"eu."].concat();
    let two = Snapshot::from_pickle(&with_devices(1)).expect("twice is not too often");
    assert_eq!(two.devices.len(), 2);
    assert_eq!(Snapshot::from_pickle(&with_devices(10_000)), Err(SnapshotError::Repetitive));
}

#[test]
fn a_small_pickle_does_not_unfold_into_a_large_snapshot() {
    // A list with itself in it, as segments: `[[...] * n]` by references.
    let mut bytes = b"\x80\x04]\x94(".to_vec();
    let segment = b"}\x94(\x8c\x07addressK\x00\x8c\x06blocks]\x94(";
    bytes.extend(segment);
    let block = b"}\x94(\x8c\x04sizeK\x01\x8c\x05state\x8c\x08inactiveu";
    bytes.extend(block);
    bytes.extend(b"h\x03".repeat(1000));
    bytes.extend(b"eu");
    bytes.extend(b"h\x01".repeat(1000));
    bytes.extend(b"e.");
    assert_eq!(Snapshot::from_pickle(&bytes), Err(SnapshotError::Repetitive));
}
