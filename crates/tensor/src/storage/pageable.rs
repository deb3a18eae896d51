//! Pageable host memory. Reading hands out snapshots of it; a writer that finds one copies first.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use gpu_runtime::{Error, StreamPoint};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::shared_buffer::SharedBuffer;
use super::staging::Staging;
use crate::Result;

/// The bytes of a storage in pageable (ordinary) host memory, and the lock that orders its users.
///
/// The lock is held while a kernel of this crate runs, and never while code of the program does:
/// the program reads a snapshot, a buffer that is copied before it is written. Nobody waits for a
/// device under the lock. `parking_lot`'s lock is fair: a thread that waits for it gets it in the
/// end.
pub(crate) struct PageableStorage {
    bytes: usize,
    content: RwLock<PageableContent>,
    /// The address of the buffer's first byte. It changes only while the lock is held for writing.
    start: AtomicPtr<u8>,
}

/// The contents of pageable memory, which its lock guards.
pub(crate) struct PageableContent {
    buffer: SharedBuffer,
    /// A copy from a device that has to arrive before the memory is used next.
    due: Option<Arc<DueCopy>>,
}

/// A copy from a device that is enqueued and counts as done, although its bytes are still to be
/// brought from the staging memory to where they belong.
struct DueCopy {
    staging: Staging,
    /// The point in the stream after which the bytes are in the staging memory.
    arrival: StreamPoint,
    /// The position of the bytes in the pageable memory.
    offset: usize,
    bytes: usize,
}

impl PageableStorage {
    /// The storage of so many bytes in a buffer that nobody else has.
    #[inline]
    pub(super) fn of_buffer(buffer: SharedBuffer, bytes: usize) -> PageableStorage {
        let start = AtomicPtr::new(buffer.start().as_ptr());
        let content = RwLock::new(PageableContent { buffer, due: None });
        PageableStorage { bytes, content, start }
    }

    /// The address of the first byte. Other threads may move and write the bytes, except while the
    /// memory is locked, or nobody else knows it.
    #[inline]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }

    /// Whether no snapshot of the memory is left, and no copy from a device is due.
    pub(super) fn is_idle(&self) -> bool {
        let content = self.content.read();
        content.due.is_none() && content.buffer.is_sole()
    }

    /// Locks the memory for reading, until the guard is dropped. `None` if a copy is due, which
    /// [`PageableStorage::settle`] waits for.
    #[inline]
    pub(crate) fn lock_to_read(&self) -> Option<RwLockReadGuard<'_, PageableContent>> {
        let content = self.content.read();
        content.due.is_none().then_some(content)
    }

    /// Locks the memory for writing, until the guard is dropped. If there are snapshots of the
    /// bytes they keep the present buffer, and the memory gets a copy of it. `None` if a copy from
    /// a device is due.
    ///
    /// # Errors
    /// The host has no memory for the copy. Nothing has changed then.
    pub(crate) fn lock_to_write(&self) -> Result<Option<RwLockWriteGuard<'_, PageableContent>>> {
        let mut content = self.content.write();
        if content.due.is_some() {
            return Ok(None);
        }
        if !content.buffer.is_sole() {
            content.buffer = content.buffer.copied(self.bytes)?;
            self.start.store(content.buffer.start().as_ptr(), Ordering::Relaxed);
        }
        Ok(Some(content))
    }

    /// The bytes as they are now, whatever is written later. It waits for kernels that are writing
    /// them, and for a copy that is due.
    ///
    /// # Errors
    /// That copy cannot be waited for here.
    #[track_caller]
    pub(crate) fn snapshot(&self) -> Result<SharedBuffer> {
        Ok(self.hold_snapshot()?.0)
    }

    /// Takes a [`snapshot`](PageableStorage::snapshot), and nobody writes the memory before the
    /// guard is dropped.
    ///
    /// # Errors
    /// As [`PageableStorage::snapshot`].
    #[track_caller]
    pub(crate) fn hold_snapshot(
        &self,
    ) -> Result<(SharedBuffer, RwLockReadGuard<'_, PageableContent>)> {
        loop {
            if let Some(content) = self.lock_to_read() {
                return Ok((content.buffer.clone(), content));
            }
            self.settle()?;
        }
    }

    /// Locks the memory for writing while a copy from a device into it is enqueued.
    ///
    /// # Errors
    /// A copy that is due cannot be waited for here; the host has no memory for a copy of the bytes
    /// that a snapshot has.
    #[track_caller]
    pub(crate) fn hold_to_fill(&self) -> Result<Filling<'_>> {
        loop {
            if let Some(content) = self.lock_to_write()? {
                return Ok(Filling(content));
            }
            self.settle()?;
        }
    }

    /// Waits for the copy that is due, without holding the lock, and then brings its bytes here.
    ///
    /// # Errors
    /// The copy cannot be waited for now, and stays due. One that failed with its device does not
    /// stay due, and leaves the memory as it was.
    #[track_caller]
    pub(crate) fn settle(&self) -> Result<()> {
        loop {
            let Some(due) = self.content.read().due.clone() else {
                return Ok(());
            };
            let arrived = due.arrival.wait();
            if !matches!(arrived, Ok(()) | Err(Error::DeviceLost { .. })) {
                return Ok(arrived?);
            }
            let mut content = self.content.write();
            // Another thread may have brought the bytes already.
            if content.due.as_ref().is_some_and(|other| Arc::ptr_eq(other, &due)) {
                content.due = None;
                if arrived.is_ok() {
                    // SAFETY: the bytes have arrived, and both sides are long enough, as `note` was
                    // promised. The buffer is no snapshot's: it was not when the copy became due,
                    // and no snapshot is given out before the copy is done.
                    unsafe { due.bring(&content.buffer) };
                }
            }
        }
    }
}

/// Pageable memory that is locked while a copy from a device into it is enqueued.
pub(crate) struct Filling<'a>(RwLockWriteGuard<'a, PageableContent>);

impl Filling<'_> {
    /// Notes that a copy of `bytes` to `offset` is enqueued, whose bytes are in `staging` after
    /// `arrival`, and unlocks the memory. The copy counts as done from here on: whoever uses the
    /// memory next waits for it.
    ///
    /// # Safety
    /// The memory has at least `bytes` bytes from `offset` on, and the staging memory as many.
    pub(crate) unsafe fn note(
        mut self,
        staging: Staging,
        arrival: StreamPoint,
        (offset, bytes): (usize, usize),
    ) {
        self.0.due = Some(Arc::new(DueCopy { staging, arrival, offset, bytes }));
    }
}

impl DueCopy {
    /// Copies the bytes from the staging memory to their position in the buffer.
    ///
    /// # Safety
    /// The bytes have arrived, the buffer is long enough, and nobody else uses it.
    unsafe fn bring(&self, buffer: &SharedBuffer) {
        // SAFETY: the staging memory has `bytes` bytes and the buffer as many from `offset` on,
        // which nobody else uses: both are this function's conditions.
        unsafe {
            let target = buffer.start().as_ptr().add(self.offset);
            self.staging.start().copy_to_nonoverlapping(target, self.bytes);
        }
    }
}
