//! What is done when the process ends: work that checks would look at is finished, what kernels
//! printed is written, and checks say what nobody has heard yet.

use std::fmt::Write;
use std::time::Duration;

use super::initialise::machine;
use crate::device::machine::SimulatedMachine;
use crate::queue::in_host_function;
use cuda_check::console::write_all;

/// So long nothing may be finished before what is left counts as never ending: a kernel that waits
/// for a program which has ended runs for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has it done at the end of a process that ends in order.
pub(in crate::device) fn watch() {
    // SAFETY: the function may be called when the process exits: what locks it takes are held for
    // moments only, by threads that go on meanwhile.
    let registered = unsafe { libc::atexit(at_exit) };
    debug_assert_eq!(registered, 0, "there is room for a handler");
}

extern "C" fn at_exit() {
    // In a forked child there is none: what is left is its parent's to tell.
    let Ok(machine) = machine() else { return };
    let mut told = String::new();
    if cuda_check::is_on() {
        finish(machine, &mut told);
    }
    machine.contexts.all().iter().for_each(|context| context.output.write());
    let is_wrong = cuda_check::tell_what_is_left(&mut told);
    // A closed stream is nothing that can be told of any more.
    let _ = write_all(libc::STDERR_FILENO, told.as_bytes());
    if is_wrong && machine.config.exit_status != 0 {
        // SAFETY: glibc goes on with the handlers that are left, and ends with the new status;
        // atexit(3) says of other systems, and not of Linux, that this may loop.
        unsafe { libc::exit(machine.config.exit_status.into()) };
    }
}

/// Waits for what is enqueued, as checks find what is wrong with it when it runs, and tells of
/// devices that were lost without any call to say so, unless that was printed.
fn finish(machine: &'static SimulatedMachine, told: &mut String) {
    // Who ends the process from a host function would wait for itself.
    let left = match in_host_function() {
        true => machine.scheduler.unfinished_streams(),
        false => machine.scheduler.finish(PATIENCE),
    };
    if left > 0 {
        let _ = writeln!(
            told,
            "cuda-sim: the work of {left} streams was not done when the process ended, and not \
             checked: synchronise before the end"
        );
    }
    if cuda_check::prints() {
        return;
    }
    for device in &machine.devices {
        if let Some(text) = device.health.untold() {
            let ordinal = device.id.ordinal;
            let _ = writeln!(
                told,
                "cuda-sim: device {ordinal} was lost after the program's last call: {text}"
            );
        }
    }
}
