//! The mode of each thread: the dtypes that operations on each kind of device are cast to.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::DType;

/// The dtypes of half precision that operands are cast to, on the CPU and on CUDA devices; `None`
/// where nothing is cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AutocastMode {
    pub(super) cpu: Option<DType>,
    pub(super) cuda: Option<DType>,
    /// Whether casts of parameters are kept.
    pub(super) keeps: bool,
}

/// The mode in which nothing is cast.
const OFF: AutocastMode = AutocastMode { cpu: None, cuda: None, keeps: true };

thread_local! {
    static MODE: Cell<AutocastMode> = const { Cell::new(OFF) };
}

impl AutocastMode {
    /// This thread's mode.
    #[inline]
    pub(crate) fn current() -> AutocastMode {
        MODE.get()
    }

    /// The dtype that operands on a kind of device are cast to.
    #[inline]
    pub(crate) fn dtype(self, is_cuda: bool) -> Option<DType> {
        if is_cuda { self.cuda } else { self.cpu }
    }

    /// Whether something may be cast.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.cpu.is_some() || self.cuda.is_some()
    }

    /// Makes this the thread's mode until the guard is dropped.
    pub(crate) fn enter(self) -> ModeGuard {
        ModeGuard { found: MODE.replace(self), _of_this_thread: PhantomData }
    }
}

/// Switches casts off for this thread until the guard is dropped: inside an operation, and in
/// backward passes.
pub(crate) fn without_autocast() -> ModeGuard {
    OFF.enter()
}

/// Restores the mode that was found when it is dropped.
#[derive(Debug)]
pub(crate) struct ModeGuard {
    found: AutocastMode,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        // A thread whose locals are gone casts nothing any more.
        let _gone_at_thread_end = MODE.try_with(|mode| mode.set(self.found));
    }
}
