//! The process's machine, which `cuInit` makes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::at_exit;
use crate::config::Config;
use crate::device::machine::{FaultInjector, SimulatedMachine};

/// A layer above the devices that keeps things which belong to contexts. It is told when they have
/// to go.
pub(crate) trait ContextObserver: Sync {
    /// A context is being destroyed: none of its work runs any more, but its memory is still there.
    fn context_ends(&self, context: u64);

    /// All contexts are about to be destroyed.
    fn reset(&self);
}

/// The machine, and who is told of the end of contexts.
struct Process {
    machine: SimulatedMachine,
    observer: &'static dyn ContextObserver,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// True in a child that was forked from a process with a machine: workers do not survive `fork`.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The machine.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`, and in forked children.
pub(crate) fn machine() -> Result<&'static SimulatedMachine, CUresult> {
    match PROCESS.get() {
        Some(process) if !FORKED.load(Ordering::Relaxed) => Ok(&process.machine),
        _ => Err(CUresult::CUDA_ERROR_NOT_INITIALIZED),
    }
}

/// Makes the machine, if there is none yet. `configure` says what it is like, `inject_faults` makes
/// the faults happen that it is configured to have, and `observer` is told of the end of contexts.
///
/// # Errors
/// `CUDA_ERROR_NO_DEVICE` if no device is visible, `CUDA_ERROR_OUT_OF_MEMORY` if there is no
/// address space for them, and those of `configure`.
pub(crate) fn initialise(
    configure: impl FnOnce() -> Result<Config, CUresult>,
    inject_faults: FaultInjector,
    observer: &'static dyn ContextObserver,
) -> Result<(), CUresult> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    if PROCESS.get().is_none() {
        let machine = SimulatedMachine::new(configure()?, inject_faults)?;
        // The lock is held, so nobody else can have set it.
        let _ = PROCESS.set(Process { machine, observer });
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        at_exit::watch();
    }
    machine().map(drop)
}

/// The layer that is told of the end of contexts; before there are any, one that does nothing.
pub(super) fn observer() -> &'static dyn ContextObserver {
    struct Nobody;
    impl ContextObserver for Nobody {
        fn context_ends(&self, _: u64) {}
        fn reset(&self) {}
    }
    PROCESS.get().map_or(&Nobody, |process| process.observer)
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}
