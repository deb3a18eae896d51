//! What a program does not give back.

use cuda_sim::control::{self, ReportKind};

use super::bench::{CHECKED, pinned};
use crate::ok;
use crate::sim::{DEFAULT, Gpu, KERNELS, in_child};

/// What leaked with a context in which that was done.
fn leaks(make: fn(&Gpu)) -> Vec<String> {
    let gpu = Gpu::take();
    control::clear_reports();
    make(&gpu);
    drop(gpu);
    let reports = control::reports();
    assert!(reports.iter().all(|report| report.kind == ReportKind::Leak));
    reports.iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_context_still_owns_when_it_ends_is_a_leak() {
    in_child(CHECKED, || {
        /// Makes an object, and forgets it.
        type Make = fn(&Gpu);
        let cases: [(Make, &str); 5] = [
            (|gpu| _ = gpu.allocate(100), "cuMemAlloc_v2"),
            (|gpu| _ = gpu.stream(0), "cuStreamCreate"),
            (|gpu| _ = gpu.event(0), "cuEventCreate"),
            (|gpu| _ = gpu.load(KERNELS), "cuModuleLoadData"),
            (|gpu| _ = pinned(gpu, 100), "cuMemAllocHost_v2"),
        ];
        for (make, function) in cases {
            let leaks = leaks(make);
            assert_eq!(leaks.len(), 1, "{function}: {leaks:#?}");
            assert!(leaks[0].contains(function), "{function}: {leaks:#?}");
        }
    });
}

#[test]
fn what_was_given_back_is_no_leak() {
    in_child(CHECKED, || {
        let leaks = leaks(|gpu| {
            ok!(cuMemFree_v2(gpu.allocate(100)));
            ok!(cuStreamDestroy_v2(gpu.stream(0)));
            ok!(cuEventDestroy_v2(gpu.event(0)));
            ok!(cuModuleUnload(gpu.load(KERNELS)));
            ok!(cuStreamSynchronize(DEFAULT));
        });
        assert!(leaks.is_empty(), "{leaks:#?}");
    });
}
