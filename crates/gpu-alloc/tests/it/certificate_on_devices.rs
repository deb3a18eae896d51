//! The certificate of an out-of-memory error, from the driver's memory up.

use gpu_alloc::policy::{Refusal, RequestKind, Retention};
use gpu_alloc::{Error, OutOfMemory, allocate};
use gpu_runtime::Stream;
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, limit};

const MIB: usize = 1 << 20;
const MIB_64: u64 = 1 << 20;

/// Of 60 MiB that may be taken, two blocks are held with a gap, which was freed while work uses it;
/// more is asked for.
fn run_out(block: usize, more: usize) -> OutOfMemory {
    let [device, ..] = devices();
    let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
    limit(device, 60 * MIB);
    let mut held = [(); 3].map(|()| Some(allocate(device, block, &main).unwrap()));
    let middle = held[1].take().unwrap();
    let gate = Gate::close(&side);
    fill(&side, &middle, 1);
    drop(middle);
    let opener = std::thread::spawn(move || gate.open());
    let error = allocate(device, more, &main).unwrap_err();
    opener.join().unwrap();
    drop(held);
    let Error::OutOfMemory(report) = error else { panic!("the device should be full: {error}") };
    *report
}

fn is_proved(report: &OutOfMemory, kind: RequestKind, bytes: u64) {
    let certificate = &report.certificate;
    assert!(certificate.is_final(), "work was waited for: {report}");
    let refused = certificate.denial();
    assert_eq!((refused.kind, refused.bytes), (kind, bytes), "{report}");
    assert!(matches!(refused.refusal, Refusal::Limit(limit) if limit / MIB_64 == 60), "{report}");
    let held: u64 = certificate.evidence().usages.iter().map(|usage| usage.held).sum();
    assert_eq!(held, report.allocated as u64);
    let taken =
        certificate.retained(Retention::Allocations) + certificate.retained(Retention::None);
    assert_eq!(taken, report.reserved as u64);
    let text = report.to_string();
    assert!(
        text.contains("all was tried: ") && text.contains("MiB more were refused by"),
        "{text}"
    );
}

#[test]
fn stitched_memory_says_which_pages_are_missing_at_the_best_place() {
    isolate(|| {
        let report = run_out(9 * MIB, 42 * MIB);
        is_proved(&report, RequestKind::Memory, 2 * MIB_64);
        // All that nobody holds a part of is had: 40 MiB.
        let place = report.certificate.evidence().place.unwrap();
        assert_eq!((place.pages, place.missing, place.supply), (22, 21, 20), "{report}");
        assert!(
            report.to_string().contains("22 pages of 2.00 MiB lacks memory for 21, and 20 could")
        );
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}

#[test]
fn segments_say_that_none_is_left_that_could_go_back() {
    isolate(|| {
        let report = run_out(10 * MIB, 45 * MIB);
        is_proved(&report, RequestKind::Segment, 46 * MIB_64);
        let evidence = report.certificate.evidence();
        assert_eq!((evidence.place, evidence.usages.len()), (None, 2));
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn expandable_segments_say_what_the_lowest_place_lacks() {
    isolate(|| {
        let report = run_out(10 * MIB, 45 * MIB);
        is_proved(&report, RequestKind::Memory, 46 * MIB_64);
        let place = report.certificate.evidence().place.unwrap();
        assert!(place.missing > place.supply && place.page_bytes == 20 * MIB_64, "{report}");
    })
    .env("SLUICE_ALLOCATOR", "pytorch-expandable")
    .run();
}
