//! What a program does not give back.

use cuda_sim::control::{self, ReportKind};

use super::bench::{CHECKED, pinned};
use crate::ok;
use crate::sim::{DEFAULT, Gpu, KERNELS, in_child, output_of_child};
use crate::virtual_memory::{GRANULE, create, map, reserve};

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

/// Makes what no context owns, and gives it back, but for the object of that number.
fn without_context(left: u32) {
    let gpu = Gpu::take();
    let give_back = |number| number != left;
    let mut pooled = 0;
    ok!(cuMemAllocAsync(&mut pooled, 100, DEFAULT));
    if give_back(0) {
        ok!(cuMemFreeAsync(pooled, DEFAULT));
    }
    ok!(cuCtxSynchronize());
    let (address, handle) = (reserve(GRANULE), create(gpu.ordinal, GRANULE));
    map(address, GRANULE, handle, gpu.ordinal);
    if give_back(1) {
        ok!(cuMemUnmap(address, GRANULE));
        if give_back(2) {
            ok!(cuMemAddressFree(address, GRANULE));
        }
    }
    if give_back(3) {
        ok!(cuMemRelease(handle));
    }
}

#[test]
fn what_no_context_owns_is_a_leak_when_the_process_ends() {
    let cases = [
        "allocation from a pool",
        "mapped memory",
        "reserved range of addresses made by cuMemAddressReserve",
        "handle of physical memory made by cuMemCreate",
    ];
    for (number, leak) in (0..).zip(cases) {
        let text = stderr_of_child(number);
        assert!(text.contains("were not given back") && text.contains(leak), "{leak}: {text}");
    }
    let text = stderr_of_child(9);
    assert!(!text.contains("not given back"), "{text}");
}

/// What a process says in which that is left.
fn stderr_of_child(left: u32) -> String {
    let child = std::env::current_exe().expect("this test");
    let output = std::process::Command::new(child)
        .args(["checked::leaks::child", "--exact"])
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(CHECKED.iter().copied())
        .env("LEFT", left.to_string())
        .output();
    let output = output.expect("it starts");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The test above in its child; nothing otherwise.
#[test]
fn child() {
    if let Ok(left) = std::env::var("LEFT") {
        without_context(left.parse().expect("a number"));
    }
}

#[test]
fn a_forked_child_does_not_report_what_its_parent_still_has() {
    let output = output_of_child(CHECKED, || {
        let gpu = Gpu::take();
        let left = gpu.allocate(100);
        // SAFETY: the child does nothing but end, by way of what is to be done then.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the handlers that run at the end of a process may run here: of this child's
            // threads there is only this one, and the driver's handler returns at once in a child.
            unsafe { libc::exit(0) };
        }
        let mut status = 1;
        // SAFETY: the status can be written.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        ok!(cuMemFree_v2(left));
    });
    if let Some([_, errors]) = output {
        assert!(!errors.contains("not given back"), "{errors}");
    }
}
