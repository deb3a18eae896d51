//! What checks find out after the program's last wait.

use std::ptr;
use std::sync::Mutex;

use super::bench::CHECKED;
use crate::sim::{Gate, Gpu, KERNELS, NON_BLOCKING, end_after, function, launch, output_of_child};

/// What stands before the work that the process ends with.
static GATE: Mutex<Option<Gate>> = Mutex::new(None);

extern "C" fn open_the_gate() {
    drop(GATE.lock().expect("no panic").take());
}

/// Has the gate opened when the process ends: handlers that were added later run first.
fn open_at_exit(gate: Gate) {
    *GATE.lock().expect("no panic") = Some(gate);
    // SAFETY: the function may be called when the process exits.
    assert_eq!(unsafe { libc::atexit(open_the_gate) }, 0);
}

#[test]
fn a_race_that_is_found_after_the_last_wait_is_reported_when_the_process_ends() {
    let output = output_of_child(CHECKED, || {
        end_after(120);
        let gpu = Gpu::take();
        let store = function(gpu.load(KERNELS), c"store");
        let pointer = gpu.allocate(8);
        let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
        // What the host has waited for would come before what it lets go.
        let gate = Gate::close(one);
        for stream in [one, two] {
            launch(store, [1, 1], stream, &[pointer, 1]).ok().expect("it is enqueued");
        }
        open_at_exit(gate);
        std::mem::forget(gpu);
    });
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("race between operations") && errors.contains("`store`"), "{errors}");
}

#[test]
fn what_a_call_has_told_is_not_told_again_when_the_process_ends() {
    let output = output_of_child(CHECKED, || {
        let gpu = Gpu::take();
        let store = function(gpu.load(KERNELS), c"store");
        launch(store, [1, 1], ptr::null_mut(), &[8, 1]).ok().expect("it is enqueued");
        crate::fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        std::mem::forget(gpu);
    });
    let Some([_, errors]) = output else { return };
    assert_eq!(errors.matches("out of bounds").count(), 1, "{errors}");
}

#[test]
fn work_that_never_ends_is_left_and_said_to_be_left() {
    let output = output_of_child(CHECKED, || {
        end_after(120);
        let gpu = Gpu::take();
        std::mem::forget(Gate::close(gpu.stream(NON_BLOCKING)));
        std::mem::forget(gpu);
    });
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("not done when the process ended"), "{errors}");
}
