//! The ledger of waits: what it has, and what a refusal leaves as it was.

use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_runtime::{
    DeviceBuffer, Error, Event, ExecutionContext, Stream, WaitMode, WaitReason, WaitRecord,
    set_wait_mode, take_waits, wait_mode, with_wait_mode,
};
use test_support::isolate;

use crate::fixture::{Gate, device, pinned, zeros};

/// The ledger is the process's: one test at a time.
fn ledger() -> MutexGuard<'static, ()> {
    static LEDGER: Mutex<()> = Mutex::new(());
    let alone = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    take_waits();
    alone
}

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

fn reasons(waits: &[WaitRecord]) -> Vec<WaitReason> {
    waits.iter().map(|wait| wait.reason).collect()
}

#[track_caller]
fn assert_refused<T>(result: gpu_runtime::Result<T>, reason: WaitReason) {
    match result {
        Err(Error::WaitRefused { reason: refused, place, .. }) => {
            assert_eq!((refused, place.file()), (reason, Location::caller().file()));
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
fn by_default_nobody_looks() {
    let _ledger = ledger();
    assert_eq!(wait_mode(), WaitMode::Off);
    stream().synchronize().expect("the device works");
    assert!(take_waits().is_empty());
}

#[test]
fn each_wait_is_recorded_with_its_place_and_reason() {
    let _ledger = ledger();
    let stream = stream();
    let (buffer, mut host) = (zeros(device(), 1000), vec![0; 1000]);
    let (line, waits) = with_wait_mode(WaitMode::Record, || {
        let line = line!() + 1;
        stream.synchronize().expect("the device works");
        device().synchronize().expect("the device works");
        let event = stream.record_event().expect("the event is recorded");
        event.synchronize().expect("the device works");
        stream.copy_dtoh_into(&buffer, &mut host).expect("the device works");
        (line, take_waits())
    });
    use WaitReason::{Device, Event, Point, Stream};
    assert_eq!(reasons(&waits), [Stream, Device, Event, Point]);
    assert!(waits.iter().all(|wait| wait.device == device() && wait.place.file() == file!()));
    let lines: Vec<_> = waits.iter().map(|wait| wait.place.line()).collect();
    assert_eq!(lines, [line, line + 1, line + 3, line + 4]);
    let text = waits[0].to_string();
    assert!(text.contains("a stream was synchronized") && text.contains(file!()), "{text}");
}

#[test]
fn what_is_known_to_be_done_is_not_waited_for() {
    let _ledger = ledger();
    let stream = stream();
    stream.add_callback(|| ()).expect("the callback is taken");
    let point = stream.point();
    stream.synchronize().expect("the device works");
    with_wait_mode(WaitMode::Fail, || point.wait()).expect("there is nothing to wait for");
}

#[test]
fn a_copy_to_pageable_memory_is_a_wait_and_one_to_page_locked_memory_is_not() {
    let _ledger = ledger();
    let stream = stream();
    let (buffer, mut host) = (zeros(device(), 4), vec![7u32; 4]);
    let copy = |host: *mut u8| {
        // SAFETY: both ends have 16 bytes, and are kept until the copy is done.
        unsafe { stream.enqueue_dtoh(host, buffer.ptr(), 16) }
    };
    with_wait_mode(WaitMode::Record, || copy(host.as_mut_ptr().cast())).expect("it is taken");
    assert_eq!(host, [0; 4]);
    assert_eq!(reasons(&take_waits()), [WaitReason::PageableCopy]);

    host.fill(7);
    let refused = with_wait_mode(WaitMode::Fail, || copy(host.as_mut_ptr().cast()));
    assert_refused(refused, WaitReason::PageableCopy);
    let mut locked = pinned(4);
    let locked_ptr = locked.as_mut_ptr().cast();
    with_wait_mode(WaitMode::Fail, || copy(locked_ptr)).expect("the driver does not wait for it");
    stream.synchronize().expect("the device works");
    assert_eq!(host, [7; 4], "nothing came after the refusal");
}

#[test]
fn a_refusal_comes_before_anything_is_done() {
    let _ledger = ledger();
    let (stream, held) = (stream(), stream());
    let mut buffer = zeros(device(), 4);
    let source = pinned(4);
    let mut target = vec![7; 4];
    let gate = Gate::hold(&held);
    let (before, event) = (stream.sequence(), Event::new());
    event.record(&held).expect("the event is recorded");
    {
        let _fail = WaitMode::Fail.enter();
        assert_refused(stream.synchronize(), WaitReason::Stream);
        assert_refused(device().synchronize(), WaitReason::Device);
        assert_refused(event.synchronize(), WaitReason::Event);
        assert_refused(held.point().wait(), WaitReason::Point);
        assert_refused(stream.copy_dtoh_into(&buffer, &mut target), WaitReason::Point);
        assert_refused(stream.copy_htod_into(&source, &mut buffer), WaitReason::Point);
        assert_refused(stream.may_wait(), WaitReason::Point);
    }
    assert_eq!((stream.sequence(), target), (before, vec![7; 4]));
    assert!(!event.query().expect("the device works"), "nobody has waited");
    assert!(take_waits().is_empty(), "what was refused is no wait");
    gate.open();
}

#[test]
fn what_is_pending_arrives_also_after_a_refusal() {
    let stream = stream();
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).expect("memory");
    let into = pinned(4);
    let gate = Gate::hold(&stream);
    let pending = stream.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    let point = pending.point().clone();
    assert_refused(with_wait_mode(WaitMode::Fail, || pending.wait()), WaitReason::Point);
    gate.open();
    point.wait().expect("the device works");
}

#[test]
fn the_mode_of_a_thread_goes_before_the_process_and_is_restored() {
    isolate(|| {
        assert_eq!(set_wait_mode(WaitMode::Fail), WaitMode::Off);
        let stream = stream();
        assert_refused(stream.synchronize(), WaitReason::Stream);
        let outer = WaitMode::Warn.enter();
        let panicked = std::panic::catch_unwind(|| {
            with_wait_mode(WaitMode::Record, || {
                assert_eq!(wait_mode(), WaitMode::Record);
                panic!("on purpose")
            })
        });
        assert!(panicked.is_err());
        assert_eq!(wait_mode(), WaitMode::Warn);
        stream.synchronize().expect("a warning is no refusal");
        let context = ExecutionContext::capture();
        let elsewhere = move || {
            assert_eq!(wait_mode(), WaitMode::Fail);
            let _entered = context.enter();
            assert_eq!(wait_mode(), WaitMode::Warn);
        };
        std::thread::spawn(elsewhere).join().expect("no panic");
        drop(outer);
        assert_eq!(wait_mode(), WaitMode::Fail);
        assert_eq!(take_waits().len(), 1);
    })
    .run();
}

#[test]
fn launches_that_the_environment_makes_wait_are_recorded_and_never_refused() {
    isolate(|| {
        let stream = stream();
        let mut buffer = DeviceBuffer::<u32>::new(device(), 4).expect("memory");
        with_wait_mode(WaitMode::Fail, || stream.copy_htod_into(&[1, 2, 3, 4], &mut buffer))
            .expect("it is what was asked for");
        assert_eq!(reasons(&take_waits()), [WaitReason::LaunchBlocking]);
    })
    .env("CUDA_LAUNCH_BLOCKING", "1")
    .run();
}
