//! Storages: memory on one device that tensors and their views share.

mod cuda;
mod host;
mod pageable;
mod pinned;
mod shared_buffer;
mod staging;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use host::HostMemory;
pub(crate) use pageable::{PageableContent, PageableStorage};
pub(crate) use pinned::Pinned;
pub(crate) use shared_buffer::SharedBuffer;
pub(crate) use staging::Staging;

use crate::resolved_device::ResolvedDevice;
use crate::shared::{Counted, WeakCounted};
use crate::{Device, Result, inference};

/// The alignment of host memory in bytes: that of cache lines and of the widest vector registers.
const ALIGNMENT: usize = 64;

/// The version of memory whose changes are not counted.
const UNCOUNTED: u64 = u64::MAX;

/// Memory on one device, which a tensor and all its views share (PyTorch's
/// `UntypedStorage`).
///
/// It is a handle, as a tensor is: clones are the same memory, which lives until the last of them
/// and of its tensors is gone. [`Tensor::storage`](crate::Tensor::storage) gives a tensor's, and
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
    inner: Counted<StorageImpl>,
}

/// The memory of a storage, which its handles share.
struct StorageImpl {
    device: ResolvedDevice,
    bytes: usize,
    memory: StorageMemory,
    /// The number of times that the contents were changed in place, or [`UNCOUNTED`].
    version: AtomicU64,
}

/// A weak handle, which does not keep the storage alive.
pub(crate) struct WeakStorage(WeakCounted<StorageImpl>);

/// The owner of a storage's bytes.
pub(crate) enum StorageMemory {
    /// Memory of the host: its users are ordered by a lock, or if it is page-locked by its use
    /// record.
    Host(HostMemory),
    /// Memory of a device: its users are ordered by its use record, between streams.
    Cuda(gpu_alloc::DeviceMemory),
}

/// The contents that new host memory must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Any: every byte is written before anybody can read it.
    Overwritten,
    /// Any, but the bytes may be read before they are written, and uninitialised memory must never be
    /// read: what an earlier tensor left there, or zeros.
    Initialized,
    /// Zeros.
    Zeroed,
}

impl Storage {
    /// The device that the memory lies on; on CUDA always with its index.
    pub fn device(&self) -> Device {
        self.resolved_device().to_device()
    }

    /// The size in bytes.
    pub fn nbytes(&self) -> usize {
        self.inner.bytes
    }

    /// Whether it is page-locked host memory, which copies from and to devices can use
    /// asynchronously.
    #[inline]
    pub fn is_pinned(&self) -> bool {
        matches!(self.inner.memory, StorageMemory::Host(HostMemory::Pinned(_)))
    }

    /// Whether the two are handles on the same memory.
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Counted::ptr_eq(&self.inner, &other.inner)
    }

    /// Allocates memory for `bytes` on a device; on CUDA for the device's current stream.
    ///
    /// # Errors
    /// There is no such memory left.
    #[inline]
    #[track_caller]
    pub(crate) fn allocate(device: ResolvedDevice, bytes: usize, fresh: Fresh) -> Result<Storage> {
        match device {
            ResolvedDevice::Cpu => {
                let buffer = SharedBuffer::new(bytes, fresh)?;
                Ok(Storage::of(device, bytes, || {
                    let pageable = PageableStorage::of_buffer(buffer, bytes);
                    StorageMemory::Host(HostMemory::Pageable(pageable))
                }))
            }
            ResolvedDevice::Cuda(on) => {
                let memory = StorageMemory::Cuda(cuda::allocate(on, bytes)?);
                Ok(Storage::of(device, bytes, || memory))
            }
        }
    }

    /// Allocates page-locked host memory for `bytes`.
    ///
    /// # Errors
    /// The limit of pinned memory is reached, or there is no driver.
    #[track_caller]
    pub(crate) fn allocate_pinned(bytes: usize, fresh: Fresh) -> Result<Storage> {
        let memory = StorageMemory::Host(HostMemory::pinned(bytes, fresh)?);
        Ok(Storage::of(ResolvedDevice::Cpu, bytes, || memory))
    }

    /// A storage of the memory that `make` gives, which is put together where it stays.
    #[inline]
    fn of(device: ResolvedDevice, bytes: usize, make: impl FnOnce() -> StorageMemory) -> Storage {
        let version = if inference::is_enabled() { UNCOUNTED } else { 0 };
        let inner = Counted::new_with(|| {
            let version = AtomicU64::new(version);
            StorageImpl { device, bytes, memory: make(), version }
        });
        Storage { inner }
    }

    #[inline]
    pub(crate) fn resolved_device(&self) -> ResolvedDevice {
        self.inner.device
    }

    pub(crate) fn memory(&self) -> &StorageMemory {
        &self.inner.memory
    }

    /// The host memory, or `None` on CUDA.
    pub(crate) fn host(&self) -> Option<&HostMemory> {
        match &self.inner.memory {
            StorageMemory::Host(memory) => Some(memory),
            StorageMemory::Cuda(_) => None,
        }
    }

    /// The address of the first byte, as the kernels of its device see it. The address of pageable
    /// memory can change whenever the memory is not held.
    pub(crate) fn address(&self) -> u64 {
        match &self.inner.memory {
            StorageMemory::Host(memory) => memory.start().expose_provenance() as u64,
            StorageMemory::Cuda(memory) => memory.ptr().address(),
        }
    }

    /// A number that no other storage has as long as this one lives: its address.
    pub(crate) fn id(&self) -> usize {
        Counted::id(&self.inner)
    }

    /// A weak handle. As long as it lives, no other storage has this one's [`id`](Storage::id).
    pub(crate) fn downgrade(&self) -> WeakStorage {
        WeakStorage(Counted::downgrade(&self.inner))
    }

    /// Whether this is the only handle, and nobody watches the memory either.
    pub(crate) fn is_sole(&self) -> bool {
        Counted::is_sole(&self.inner)
    }

    /// The number of times that the contents were changed in place (PyTorch's `_version`). Changes of
    /// memory that was allocated in [`inference_mode`](crate::inference_mode) are not counted.
    ///
    /// ```
    /// let x = tensor::tensor![1.0, 2.0]?;
    /// let before = x.storage().version();
    /// x.add_(1.0)?;
    /// assert!(x.storage().version() > before);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn version(&self) -> u64 {
        self.inner.version.load(Ordering::Acquire)
    }

    /// Notes a change in place, so that tensors which were saved for the backward pass before it
    /// are known to be stale.
    pub(crate) fn bump_version(&self) {
        if !self.is_inference() {
            self.inner.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether the memory was allocated in inference mode, so that its changes are not counted.
    #[inline]
    pub(crate) fn is_inference(&self) -> bool {
        self.inner.version.load(Ordering::Relaxed) == UNCOUNTED
    }
}

impl WeakStorage {
    /// The storage, if it still has a handle.
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
