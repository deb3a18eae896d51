//! What each host thread has of its own: the stack of contexts, and its default streams.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cuda_sys::CUresult;

use super::initialise::machine;
use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::device::streams::stream::Stream;

#[derive(Default)]
struct ThreadContexts {
    epoch: u64,
    /// The last one is current.
    contexts: Vec<Arc<Context>>,
    /// Per-thread default streams.
    streams: Vec<Arc<Stream>>,
}

/// The calling thread's current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if there is none, `CUDA_ERROR_CONTEXT_IS_DESTROYED` if it has been
/// destroyed.
pub(crate) fn current() -> Result<Arc<Context>, CUresult> {
    top(machine()?)?.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}

/// The calling thread's current context, on a device that works.
///
/// # Errors
/// As [`current`], and the device's sticky error.
pub(crate) fn working() -> Result<Arc<Context>, CUresult> {
    let context = current()?;
    context.check()?;
    Ok(context)
}

/// The handle of the current context, destroyed or not; 0 if there is none.
///
/// # Errors
/// `CUDA_ERROR_DEINITIALIZED` on a thread that is ending.
pub(crate) fn top_handle(machine: &'static SimulatedMachine) -> Result<u64, CUresult> {
    with(machine, |thread| thread.contexts.last().map_or(0, |context| context.handle))
}

/// Replaces the current context; `None` removes it.
///
/// # Errors
/// `CUDA_ERROR_DEINITIALIZED` on a thread that is ending.
pub(crate) fn set(
    machine: &'static SimulatedMachine,
    context: Option<Arc<Context>>,
) -> Result<(), CUresult> {
    let old = with(machine, |thread| {
        let old = thread.contexts.pop();
        thread.contexts.extend(context);
        old
    })?;
    drop(old);
    Ok(())
}

/// Makes a context current on top of the others.
///
/// # Errors
/// `CUDA_ERROR_DEINITIALIZED` on a thread that is ending.
pub(crate) fn push(
    machine: &'static SimulatedMachine,
    context: Arc<Context>,
) -> Result<(), CUresult> {
    with(machine, |thread| thread.contexts.push(context))
}

/// Removes the current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if there is none.
pub(crate) fn pop(machine: &'static SimulatedMachine) -> Result<Arc<Context>, CUresult> {
    with(machine, |thread| thread.contexts.pop())?.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}

/// The calling thread's default stream in a context, made at first use.
///
/// # Errors
/// `CUDA_ERROR_DEINITIALIZED` on a thread that is ending.
pub(crate) fn thread_stream(
    machine: &'static SimulatedMachine,
    context: &Arc<Context>,
) -> Result<Arc<Stream>, CUresult> {
    let of_context = |stream: &&Arc<Stream>| stream.context.id == context.id;
    let known = with(machine, |thread| thread.streams.iter().find(of_context).cloned())?;
    if let Some(stream) = known {
        return Ok(stream);
    }
    let stream = Arc::new(Stream::per_thread(Arc::clone(context)));
    let gone = with(machine, |thread| {
        let gone = thread.streams.extract_if(.., |stream| !stream.context.is_alive()).collect();
        thread.streams.push(Arc::clone(&stream));
        gone
    });
    gone.map(|gone: Vec<_>| drop(gone))?;
    Ok(stream)
}

thread_local! {
    /// Whether the call that runs is a variant for which stream 0 is the thread's own.
    static OWN_DEFAULT_STREAM: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call for which stream 0 is the thread's own default stream.
pub(crate) fn with_own_default_stream<R>(call: impl FnOnce() -> R) -> R {
    /// Puts the old value back, however the call ends.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            OWN_DEFAULT_STREAM.set(self.0);
        }
    }
    let _restore = Restore(OWN_DEFAULT_STREAM.replace(true));
    call()
}

/// Whether stream 0 is the thread's own for the call that runs.
pub(crate) fn has_own_default_stream() -> bool {
    OWN_DEFAULT_STREAM.get()
}

/// The current context; `None` if the stack is empty.
fn top(machine: &'static SimulatedMachine) -> Result<Option<Arc<Context>>, CUresult> {
    with(machine, |thread| {
        let Some(top) = thread.contexts.last_mut() else { return Ok(None) };
        if !top.is_alive() {
            // A primary context that was released for good and retained again goes on by the same
            // handle.
            let next = machine.contexts.get(top.handle);
            *top = next.ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        }
        Ok(Some(Arc::clone(top)))
    })?
}

fn with<R>(
    machine: &'static SimulatedMachine,
    look: impl FnOnce(&mut ThreadContexts) -> R,
) -> Result<R, CUresult> {
    thread_local! {
        static THREAD: RefCell<ThreadContexts> = RefCell::default();
    }
    THREAD
        .try_with(|thread| {
            let epoch = machine.epoch();
            if thread.borrow().epoch != epoch {
                let void = thread.replace(ThreadContexts { epoch, ..ThreadContexts::default() });
                drop(void);
            }
            look(&mut thread.borrow_mut())
        })
        .map_err(|_| CUresult::CUDA_ERROR_DEINITIALIZED)
}
