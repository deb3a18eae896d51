//! The memory of tensors: a block on one device that tensors and their views share.

mod block;
mod cache;
mod cuda;
mod heap;
mod host;
mod pinned;
mod staging;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

pub(crate) use block::Block;
pub(crate) use heap::{Heap, HeapContent};
pub(crate) use host::HostMemory;
pub(crate) use pinned::Pinned;
pub(crate) use staging::Staging;

use crate::placement::Place;
use crate::{Device, Result};

/// Host memory begins at multiples of this: cache lines do, and the widest vector registers.
const ALIGNMENT: usize = 64;

/// A block of memory on one device, which a tensor and all its views share (PyTorch's
/// `UntypedStorage`).
///
/// It is a handle, as a tensor is: clones are the same memory, which lives until the last of them and
/// of its tensors is gone. [`Tensor::storage`](crate::Tensor::storage) gives a tensor's, and
/// [`Tensor::from_storage`](crate::Tensor::from_storage) a tensor of one.
///
/// ```
/// use tensor::{DType, Device, Tensor, tensor};
///
/// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
/// let column = x.select(1, 0)?;
/// assert!(column.storage().ptr_eq(x.storage()), "a view shares the memory of the whole");
/// assert!(!x.clone_data()?.storage().ptr_eq(x.storage()));
/// assert_eq!((x.storage().nbytes(), x.storage().device()), (24, Device::Cpu));
///
/// let all = Tensor::from_storage(column.storage(), DType::F32)?;
/// assert_eq!(all.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    bytes: usize,
    memory: Memory,
    version: AtomicU64,
}

/// A handle that keeps no memory: it knows of a storage as long as others have it.
pub(crate) struct WeakStorage(Weak<Inner>);

/// Who owns the bytes, and by what they are ordered.
pub(crate) enum Memory {
    /// Ordered by a lock, and where it is page-locked by its copies in flight.
    Host(HostMemory),
    /// Ordered by the streams that use it.
    Cuda(gpu_alloc::DeviceMemory),
}

/// What new host memory must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Every byte is written before anybody can read it.
    Overwritten,
    /// The bytes may be read as they are, so they must have a value; for an operation's output that
    /// is not known to be written in full.
    Zeroed,
}

impl Storage {
    /// Where the memory lies; on CUDA always with the device's index.
    pub fn device(&self) -> Device {
        self.place().device()
    }

    /// How long it is, in bytes.
    pub fn nbytes(&self) -> usize {
        self.inner.bytes
    }

    /// Whether it is page-locked host memory, from where copies can be asynchronous.
    #[inline]
    pub fn is_pinned(&self) -> bool {
        matches!(self.inner.memory, Memory::Host(HostMemory::Pinned(_)))
    }

    /// Whether the two are the same memory.
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Memory for `bytes` at `place`; on CUDA it belongs to the device's current stream.
    ///
    /// # Errors
    /// There is no such memory left.
    #[track_caller]
    pub(crate) fn allocate(place: Place, bytes: usize, fresh: Fresh) -> Result<Storage> {
        let memory = match place {
            Place::Cpu => Memory::Host(HostMemory::heap(bytes, fresh)?),
            Place::Cuda(device) => Memory::Cuda(cuda::allocate(device, bytes)?),
        };
        Ok(Storage::of(place, bytes, memory))
    }

    /// Page-locked host memory for `bytes`.
    ///
    /// # Errors
    /// The limit of pinned memory is reached, or there is no driver.
    #[track_caller]
    pub(crate) fn allocate_pinned(bytes: usize, fresh: Fresh) -> Result<Storage> {
        let memory = Memory::Host(HostMemory::pinned(bytes, fresh)?);
        Ok(Storage::of(Place::Cpu, bytes, memory))
    }

    fn of(place: Place, bytes: usize, memory: Memory) -> Storage {
        Storage { inner: Arc::new(Inner { place, bytes, memory, version: AtomicU64::new(0) }) }
    }

    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.inner.place
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// The host memory, or `None` on CUDA.
    pub(crate) fn host(&self) -> Option<&HostMemory> {
        match &self.inner.memory {
            Memory::Host(memory) => Some(memory),
            Memory::Cuda(_) => None,
        }
    }

    /// Where the block begins, in the address space that its device's kernels see. That of memory on
    /// the heap changes but while it is held.
    pub(crate) fn address(&self) -> u64 {
        match &self.inner.memory {
            Memory::Host(memory) => memory.start().expose_provenance() as u64,
            Memory::Cuda(memory) => memory.ptr().address(),
        }
    }

    /// A number that no other storage has as long as this one lives.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// A handle that keeps no memory. As long as it is there, no other storage has this one's
    /// [`id`](Storage::id).
    pub(crate) fn downgrade(&self) -> WeakStorage {
        WeakStorage(Arc::downgrade(&self.inner))
    }

    /// Whether nobody else has a handle.
    pub(crate) fn is_sole_owner(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    /// How often the contents were changed in place.
    pub(crate) fn version(&self) -> u64 {
        self.inner.version.load(Ordering::Acquire)
    }

    /// Notes a change in place, so that gradients saved before it are known to be stale.
    pub(crate) fn bump_version(&self) {
        self.inner.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl WeakStorage {
    /// The storage, if anybody still has it.
    pub(crate) fn upgrade(&self) -> Option<Storage> {
        self.0.upgrade().map(|inner| Storage { inner })
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pinned = if self.is_pinned() { ", page-locked" } else { "" };
        write!(f, "Storage({} bytes on {}{pinned})", self.nbytes(), self.device())
    }
}
