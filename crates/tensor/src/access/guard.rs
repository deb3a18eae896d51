//! Elements of host memory as a slice, for as long as the program likes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;

use gpu_runtime::{Access, HostGuard};

use super::hold::{hold, tell};
use crate::reserve::try_with_capacity;
use crate::storage::{Block, HostMemory};
use crate::{DType, Element, Error, Result, Tensor};

/// The elements of a tensor on the CPU, as a slice.
///
/// It is a snapshot: the elements stay what they were when it was taken, whatever is written to the
/// tensor or its views, by whichever thread. It holds no lock and borrows nothing, so that it may be
/// kept, sent to other threads, or forgotten, and nobody waits for it. Who writes the tensor while
/// there is a guard writes a copy of the memory, which the tensor and its views have from then on;
/// that costs a copy once per guard, and nothing where the guard is gone by then.
///
/// **Page-locked memory** ([`Tensor::pin_memory`]) cannot move, since devices know where it is. There a
/// write is refused while a guard lives, with [`Error::GuardHeld`], which names the place where the
/// guard was taken: to every thread, to copies, and to launches of graphs that write the memory. So drop
/// such a guard early. One that is forgotten leaves the memory readable, and never writable again.
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
    _memory: Kept,
    _elements: PhantomData<T>,
}

/// What keeps the elements where they are, and as they are.
enum Kept {
    Heap { _block: Block },
    Pinned { _guard: HostGuard },
}

// SAFETY: it is a slice of `T`, which nobody writes as long as the guard lives, and an owner of the
// memory, which may be let go of in any thread.
unsafe impl<T: Send + Sync> Send for ReadGuard<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ReadGuard<T> {}

/// As [`Tensor::read`], copied. Whoever writes meanwhile waits for the copy, of page-locked memory too.
///
/// # Errors
/// As [`Tensor::read`].
#[track_caller]
pub(crate) fn to_vec<T: Element>(op: &'static str, tensor: &Tensor) -> Result<Vec<T>> {
    let memory = readable::<T>(op, tensor)?;
    let _held = hold(op, &[(tensor, Access::Read)])?;
    let elements = elements::<T>(memory.start(), tensor);
    // SAFETY: the layout of a tensor lies inside its storage, which is held; any bytes are a number,
    // and those of a bool are looked at first.
    unsafe {
        check_values::<T>(op, elements, tensor.numel())?;
        let mut copy = try_with_capacity(tensor.numel())?;
        copy.extend_from_slice(std::slice::from_raw_parts(elements, tensor.numel()));
        Ok(copy)
    }
}

/// The memory of a tensor whose elements are a slice of `T` in host memory.
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

/// Where the elements of a tensor lie in memory that begins at `start`.
fn elements<T>(start: *mut u8, tensor: &Tensor) -> *const T {
    // Wrapping, since a view of no elements may begin anywhere.
    start.cast::<T>().wrapping_add(tensor.offset())
}

/// That the bytes there are elements of `T`.
///
/// # Safety
/// There are `len` of them, which nobody writes meanwhile.
unsafe fn check_values<T: Element>(op: &'static str, elements: *const T, len: usize) -> Result<()> {
    if T::DTYPE != DType::Bool {
        return Ok(());
    }
    // SAFETY: the caller promises that there are so many, each of one byte; and any is a valid `u8`.
    let bytes = unsafe { std::slice::from_raw_parts(elements.cast::<u8>(), len) };
    match bytes.iter().any(|&byte| byte > 1) {
        true => Err(Error::InvalidBool { op }),
        false => Ok(()),
    }
}

impl Tensor {
    /// The elements as a slice, without a copy: a snapshot, which later writes leave alone. Waits for
    /// copies in flight into this memory.
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
        let (start, kept) = match memory {
            HostMemory::Heap(heap) => {
                let block = heap.snapshot()?;
                (block.start().as_ptr(), Kept::Heap { _block: block })
            }
            HostMemory::Pinned(pinned) => {
                let guard = pinned.guard(Location::caller())?;
                tell(&[(self, Access::Read)])?;
                (pinned.start(), Kept::Pinned { _guard: guard })
            }
        };
        let elements = elements::<T>(start, self);
        // SAFETY: the memory holds as many bytes from there on, which nobody writes: it is a
        // snapshot's, or a guard keeps writers away.
        unsafe { check_values::<T>("read", elements, self.numel())? };
        Ok(ReadGuard { elements, len: self.numel(), _memory: kept, _elements: PhantomData })
    }
}

impl<T> Deref for ReadGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the layout of the tensor that `read` was given lies inside its storage, whose memory
        // is aligned for each dtype; any bytes are a number, and those of a bool were looked at. Nobody
        // writes them: a snapshot's block is copied first, and page-locked memory is refused.
        unsafe { std::slice::from_raw_parts(self.elements, self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
