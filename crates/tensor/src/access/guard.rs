//! The elements of a tensor as a slice for the program.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;

use gpu_runtime::{Access, HostGuard};

use super::hold::{hold, tell};
use crate::reserve::try_with_capacity;
use crate::storage::{HostMemory, SharedBuffer};
use crate::{DType, Element, Error, Result, Tensor};

/// The elements of a tensor on the CPU, as a slice.
///
/// It is a snapshot: the elements stay what they were when it was taken, whatever any thread writes
/// to the tensor or its views afterwards. It holds no lock and borrows nothing, so it may be kept,
/// sent to other threads, or forgotten, and nobody waits for it. A write while a guard lives goes
/// to a copy of the memory, which the tensor and its views have from then on (copy on write): that
/// costs one copy per guard, and nothing if the guard was dropped before.
///
/// **Page-locked memory** ([`Tensor::pin_memory`]) cannot move, since devices know its address. While a
/// guard of it lives, writes are refused with [`Error::GuardHeld`], which names the place in the
/// source where the guard was taken: writes of every thread, copies, and launches of graphs that
/// write the memory. So drop such a guard early. If one is forgotten, the memory can never be
/// written again.
///
/// ```
/// use tensor::tensor;
///
/// let x = tensor![1.0, 2.0]?;
/// let guard = x.read::<f32>()?;
/// x.add_(10.0)?;
/// assert_eq!(guard[..], [1.0, 2.0]);
/// assert_eq!(x.read::<f32>()?[..], [11.0, 12.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct ReadGuard<T> {
    elements: *const T,
    len: usize,
    _owner: ElementsOwner,
    _elements: PhantomData<T>,
}

/// The owner of a guard's memory, which keeps the elements where they are and as they are.
enum ElementsOwner {
    Pageable { _buffer: SharedBuffer },
    Pinned { _guard: HostGuard },
}

// SAFETY: it is a slice of `T`, which nobody writes as long as the guard lives, and an owner of the
// memory, which may be dropped in any thread.
unsafe impl<T: Send + Sync> Send for ReadGuard<T> {}
// SAFETY: shared references give out `&[T]` and nothing else, which threads may share as `T` is
// `Sync`.
unsafe impl<T: Sync> Sync for ReadGuard<T> {}

/// A copy of the elements. Writers wait while it is made, those of page-locked memory too.
///
/// # Errors
/// As [`Tensor::read`].
#[track_caller]
pub(crate) fn to_vec<T: Element>(op: &'static str, tensor: &Tensor) -> Result<Vec<T>> {
    let memory = readable::<T>(op, tensor)?;
    let _held = hold(op, &[(tensor, Access::Read)])?;
    let elements = elements::<T>(memory.start(), tensor);
    // SAFETY: the layout of a tensor lies inside its storage, which is held, so nobody writes it;
    // any bytes are a valid number, and those of a bool are checked first.
    unsafe {
        check_values::<T>(op, elements, tensor.numel())?;
        let mut copy = try_with_capacity(tensor.numel())?;
        copy.extend_from_slice(std::slice::from_raw_parts(elements, tensor.numel()));
        Ok(copy)
    }
}

/// The memory of a tensor whose elements can be given out as a slice of `T`.
///
/// # Errors
/// The tensor is on a CUDA device, not contiguous, or of another dtype than `T`.
#[track_caller]
fn readable<'a, T: Element>(op: &'static str, tensor: &'a Tensor) -> Result<&'a HostMemory> {
    let Some(memory) = tensor.storage().host() else {
        return Err(Error::NotOnHost { op, device: tensor.device() });
    };
    tensor.expect_dtype(op, T::DTYPE)?;
    if !tensor.is_contiguous() {
        return Err(tensor.not_contiguous(op));
    }
    Ok(memory)
}

/// The address of a tensor's first element in memory that begins at `start`.
fn elements<T>(start: *mut u8, tensor: &Tensor) -> *const T {
    // Wrapping, since a view of no elements may begin anywhere.
    start.cast::<T>().wrapping_add(tensor.offset())
}

/// Checks that the bytes of the elements are values of `T`, which for a `bool` must be 0 or 1.
///
/// # Errors
/// A byte is neither.
///
/// # Safety
/// There are `len` elements, which nobody writes meanwhile.
unsafe fn check_values<T: Element>(op: &'static str, elements: *const T, len: usize) -> Result<()> {
    if T::DTYPE != DType::Bool {
        return Ok(());
    }
    // SAFETY: there are `len` elements of one byte each, which nobody writes (a condition of this
    // function), and any byte is a valid `u8`.
    let bytes = unsafe { std::slice::from_raw_parts(elements.cast::<u8>(), len) };
    match bytes.iter().any(|&byte| byte > 1) {
        true => Err(Error::InvalidBool { op }),
        false => Ok(()),
    }
}

impl Tensor {
    /// The elements of a contiguous CPU tensor as a slice, without a copy. It is a snapshot, which
    /// later writes do not change. Waits for copies in flight into this memory.
    ///
    /// While a guard of page-locked memory lives, writes to that memory are
    /// [`Error::GuardHeld`]; see [`ReadGuard`].
    ///
    /// # Errors
    /// The tensor is on a CUDA device, not contiguous, or of another dtype than `T`; or a copy in
    /// flight failed.
    #[track_caller]
    pub fn read<T: Element>(&self) -> Result<ReadGuard<T>> {
        let memory = readable::<T>("read", self)?;
        let (start, owner) = match memory {
            HostMemory::Pageable(memory) => {
                let buffer = memory.snapshot()?;
                (buffer.start().as_ptr(), ElementsOwner::Pageable { _buffer: buffer })
            }
            HostMemory::Pinned(pinned) => {
                let guard = pinned.guard(Location::caller())?;
                tell(&[(self, Access::Read)])?;
                (pinned.start(), ElementsOwner::Pinned { _guard: guard })
            }
        };
        let elements = elements::<T>(start, self);
        // SAFETY: the layout of a tensor lies inside its storage, and nobody writes its bytes: they
        // are a snapshot's, or a guard keeps writers away.
        unsafe { check_values::<T>("read", elements, self.numel())? };
        Ok(ReadGuard { elements, len: self.numel(), _owner: owner, _elements: PhantomData })
    }
}

impl<T> Deref for ReadGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the layout of the tensor that `read` was given lies inside its storage, whose
        // memory is aligned for each dtype; any bytes are a valid number, and those of a bool were
        // checked. Nobody writes them: writers copy a snapshot's buffer first, and are refused
        // page-locked memory.
        unsafe { std::slice::from_raw_parts(self.elements, self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
