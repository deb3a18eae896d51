//! Findings on standard error, for a person who only has that.

use std::ptr;

use cuda_sim::control::{self, CheckKinds, Config};
use cuda_sys::CUresult;

use super::bench::{Argument, CHECKED, Launch};
use crate::sim::{DEFAULT, Gpu, KERNELS, function, launch, output_of_child, status_of_child};
use crate::{fails, ok};

const RACES: &str = concat!(include_str!("../../ptx/faulty/races.ptx"), "\0");
const MEMORY: &str = concat!(include_str!("../../ptx/faulty/memory.ptx"), "\0");

/// Writes behind the end of an allocation, and leaves that allocated.
fn write_out_of_bounds() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let pointer = gpu.allocate(104);
    launch(store, [1, 1], DEFAULT, &[pointer + 104, 1]).ok().expect("it is enqueued");
    fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    std::mem::forget(gpu);
}

#[test]
fn a_finding_is_printed_with_all_that_is_known_of_it_and_a_summary() {
    let output = output_of_child(CHECKED, || {
        write_out_of_bounds();
    });
    let Some([_, errors]) = output else { return };
    for part in [
        "cuda-sim: access out of bounds\n",
        "write by kernel `store`, block [0, 0, 0], thread [0, 0, 0], PTX line ",
        "enqueued by cuLaunchKernel",
        "8 bytes at 0x",
        "0 bytes after the end of allocation ",
        "(104 bytes at 0x",
        "made by cuMemAlloc_v2",
        "objects were not given back",
        "CUDA_SIM_CHECK=memory,init,shared,global,streams looks for no leaks",
        "cuda-sim: checks found 1 fault at 1 place, 2 leaks\n",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn a_line_of_the_source_is_named_where_the_ptx_has_lines() {
    let output = output_of_child(CHECKED, || {
        let launch = Launch {
            kernel: "write_at",
            blocks: 1,
            threads: 32,
            shared: 0,
            arguments: &[Argument::Zeros(100), Argument::Number(0)],
        };
        drop(launch.run(MEMORY));
    });
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("memory.cu:"), "{errors}");
}

#[test]
fn findings_of_one_place_are_printed_once() {
    let output = output_of_child(CHECKED, || {
        let launch = Launch {
            kernel: "shuffles_from_nobody",
            blocks: 1,
            threads: 32,
            shared: 0,
            arguments: &[Argument::Zeros(256)],
        };
        for _ in 0..3 {
            assert_eq!(launch.run(RACES).error, CUresult::CUDA_SUCCESS);
        }
    });
    let Some([_, errors]) = output else { return };
    assert_eq!(errors.matches("shuffle from an inactive lane").count(), 1, "{errors}");
    assert!(errors.contains("checks found 3 faults at 1 place"), "{errors}");
}

#[test]
fn leaks_of_one_place_are_one_line() {
    let output = output_of_child(CHECKED, || {
        let gpu = Gpu::take();
        for _ in 0..20 {
            gpu.allocate(100);
        }
        drop(gpu);
    });
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("20 objects were not given back"), "{errors}");
    assert!(errors.contains("20 times allocation (2000 bytes) made by cuMemAlloc_v2"), "{errors}");
}

#[test]
fn a_program_without_faults_is_told_that_nothing_was_found() {
    let output = output_of_child(CHECKED, || drop(Gpu::take()));
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("cuda-sim: checks found nothing\n"), "{errors}");
}

#[test]
fn a_kernel_that_traps_is_told_of_too() {
    let output = output_of_child(CHECKED, || {
        let gpu = Gpu::take();
        let trapped = function(gpu.load(KERNELS), c"trapped");
        launch(trapped, [1, 1], DEFAULT, &[]).ok().expect("it is enqueued");
        fails!(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
        std::mem::forget(gpu);
    });
    let Some([_, errors]) = output else { return };
    assert!(
        errors.contains("cuda-sim: device 0 is lost") && errors.contains("`trapped`"),
        "{errors}"
    );
}

#[test]
fn a_program_that_asks_for_checks_itself_reads_its_findings_and_nothing_is_printed() {
    let output = output_of_child(&[], || {
        let config = Config { check: CheckKinds::MEMORY, ..Config::default() };
        control::configure(config).expect("nothing is fixed yet");
        ok!(cuInit(0));
        let mut context = ptr::null_mut();
        ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok!(cuCtxSetCurrent(context));
        let mut module = ptr::null_mut();
        ok!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
        let store = function(module, c"store");
        launch(store, [1, 1], DEFAULT, &[8, 1]).ok().expect("it is enqueued");
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        assert_eq!(control::reports().len(), 1);
    });
    let Some([_, errors]) = output else { return };
    assert!(!errors.contains("cuda-sim"), "{errors}");
}

#[test]
fn findings_set_the_exit_status_if_that_is_asked_for() {
    let asked = [CHECKED, &[("CUDA_SIM_EXIT_STATUS", "99")]].concat();
    let Some(status) = status_of_child(&asked, || {
        write_out_of_bounds();
    }) else {
        return;
    };
    assert_eq!(status, Some(99));
}

#[test]
fn the_exit_status_is_the_programs_where_nothing_is_found() {
    let asked = [CHECKED, &[("CUDA_SIM_EXIT_STATUS", "99")]].concat();
    let Some(status) = status_of_child(&asked, || drop(Gpu::take())) else { return };
    assert_eq!(status, Some(0));
}

#[test]
fn a_refused_image_says_why_where_the_log_is_asked_for() {
    let output = output_of_child(&[("CUDA_SIM_LOG", "1")], || {
        let gpu = Gpu::take();
        let mut module = ptr::null_mut();
        let machine_code = c"\x7fELF".as_ptr().cast();
        fails!(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mut module, machine_code));
        let text = c".version 8.0\n.target sm_75\n.address_size 64\nnonsense\n".as_ptr().cast();
        fails!(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&mut module, text));
        let store = function(gpu.load(KERNELS), c"store");
        launch(store, [1, 1], DEFAULT, &[8, 1]).ok().expect("it is enqueued");
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        std::mem::forget(gpu);
    });
    let Some([_, errors]) = output else { return };
    for part in ["machine code", "PTX line 4", "illegal write of 8 bytes at 0x8"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn a_variable_that_means_nothing_is_named_when_the_driver_does_not_start() {
    let output = output_of_child(&[("CUDA_SIM_MEMORY", "much")], || {
        fails!(CUDA_ERROR_INVALID_VALUE, cuInit(0));
    });
    let Some([_, errors]) = output else { return };
    assert!(
        errors.contains("cuda-sim: cuInit fails: CUDA_SIM_MEMORY=much is not a size"),
        "{errors}"
    );
}
