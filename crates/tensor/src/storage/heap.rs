//! Memory of the heap, of which reading hands out snapshots: a writer that finds one copies first.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use gpu_runtime::{Error, StreamPoint};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Fresh;
use super::block::Block;
use super::staging::Staging;
use crate::Result;

/// The bytes of a storage in ordinary host memory, and the lock that orders its users.
///
/// The lock is held while a kernel of this crate runs, and never while code of the program does: what
/// that reads is a block of its own, and who waits for a device waits without. Of threads that want the
/// lock none is passed over for ever.
pub(crate) struct Heap {
    bytes: usize,
    state: RwLock<HeapContent>,
    /// Where the block's bytes begin. It changes only while the lock is held for writing.
    start: AtomicPtr<u8>,
}

/// What the lock of a piece of the heap keeps.
pub(crate) struct HeapContent {
    block: Block,
    /// The copy from a device that comes before whatever is done with the memory next.
    due: Option<Arc<Due>>,
}

/// A copy from a device, enqueued and counted as done, whose bytes are yet to be brought here.
struct Due {
    staging: Staging,
    /// When they are in the staging memory.
    arrival: StreamPoint,
    /// Where they belong, from the start of the memory.
    offset: usize,
    bytes: usize,
}

impl Heap {
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Heap> {
        let block = Block::new(bytes, fresh)?;
        let start = AtomicPtr::new(block.start().as_ptr());
        Ok(Heap { bytes, state: RwLock::new(HeapContent { block, due: None }), start })
    }

    /// Where the bytes begin. Others may move and write them, but while the memory is locked, or
    /// nobody else knows it.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }

    /// Keeps writers away until the guard is dropped. Nothing, if a copy is due: [`Heap::settle`].
    pub(crate) fn lock_to_read(&self) -> Option<RwLockReadGuard<'_, HeapContent>> {
        let state = self.state.read();
        state.due.is_none().then_some(state)
    }

    /// Keeps everybody else away until the guard is dropped, from bytes that are no snapshot's.
    /// Nothing, if a copy is due.
    ///
    /// # Errors
    /// They were a snapshot's, and there is no memory for a copy. Nothing has changed then.
    pub(crate) fn lock_to_write(&self) -> Result<Option<RwLockWriteGuard<'_, HeapContent>>> {
        let mut state = self.state.write();
        if state.due.is_some() {
            return Ok(None);
        }
        if !state.block.is_sole() {
            state.block = state.block.copied(self.bytes)?;
            self.start.store(state.block.start().as_ptr(), Ordering::Relaxed);
        }
        Ok(Some(state))
    }

    /// The bytes as they are now: who writes them later writes a copy. It waits for kernels that
    /// write them now, and for a copy that is due.
    ///
    /// # Errors
    /// That copy cannot be waited for here.
    #[track_caller]
    pub(crate) fn snapshot(&self) -> Result<Block> {
        Ok(self.hold_snapshot()?.0)
    }

    /// As [`Heap::snapshot`], and nobody writes before the guard is dropped.
    ///
    /// # Errors
    /// As [`Heap::snapshot`].
    #[track_caller]
    pub(crate) fn hold_snapshot(&self) -> Result<(Block, RwLockReadGuard<'_, HeapContent>)> {
        loop {
            if let Some(state) = self.lock_to_read() {
                return Ok((state.block.clone(), state));
            }
            self.settle()?;
        }
    }

    /// Keeps everybody else away while a copy from a device is enqueued.
    ///
    /// # Errors
    /// A copy that is due cannot be waited for here; there is no memory for a copy of what a guard
    /// reads.
    #[track_caller]
    pub(crate) fn hold_to_fill(&self) -> Result<Filling<'_>> {
        loop {
            if let Some(state) = self.lock_to_write()? {
                return Ok(Filling(state));
            }
            self.settle()?;
        }
    }

    /// Waits until the copy that is due has arrived, with nothing held, and brings it here.
    ///
    /// # Errors
    /// It cannot be waited for now, and stays due. One that failed with its device does not, and leaves
    /// the memory as it was.
    #[track_caller]
    pub(crate) fn settle(&self) -> Result<()> {
        loop {
            let Some(due) = self.state.read().due.clone() else {
                return Ok(());
            };
            let arrived = due.arrival.wait();
            if !matches!(arrived, Ok(()) | Err(Error::DeviceLost { .. })) {
                return Ok(arrived?);
            }
            let mut state = self.state.write();
            // Another thread may have been faster.
            if state.due.as_ref().is_some_and(|other| Arc::ptr_eq(other, &due)) {
                state.due = None;
                if arrived.is_ok() {
                    // SAFETY: the bytes have arrived, and both are as long, as `note` was promised.
                    // The block is no snapshot's: it was not when the copy became due, and nobody
                    // gets one before that is done.
                    unsafe { due.bring(&state.block) };
                }
            }
        }
    }
}

/// Memory that is about to be filled by a copy from a device.
pub(crate) struct Filling<'a>(RwLockWriteGuard<'a, HeapContent>);

impl Filling<'_> {
    /// Notes a copy of `bytes` to `offset`, which is enqueued and in `staging` by `arrival`. It counts
    /// as done from here on: whoever uses the memory waits for it, and nobody holds the memory meanwhile.
    ///
    /// # Safety
    /// From `offset` on the memory is `bytes` long, or longer, and the staging memory is as long.
    pub(crate) unsafe fn note(
        mut self,
        staging: Staging,
        arrival: StreamPoint,
        (offset, bytes): (usize, usize),
    ) {
        self.0.due = Some(Arc::new(Due { staging, arrival, offset, bytes }));
    }
}

impl Due {
    /// # Safety
    /// The bytes have arrived, the block is long enough, and nobody else uses it.
    unsafe fn bring(&self, block: &Block) {
        // SAFETY: the staging memory has `bytes` bytes and the block as many from `offset` on, which
        // nobody else uses: both are this function's conditions.
        unsafe {
            let target = block.start().as_ptr().add(self.offset);
            self.staging.start().copy_to_nonoverlapping(target, self.bytes);
        }
    }
}
