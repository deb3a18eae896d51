//! Memory of the heap, of which reading hands out snapshots: a writer that finds one copies first.

use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Fresh;
use super::block::Block;
use crate::Result;

/// The bytes of a storage in ordinary host memory, and the lock that orders its users.
///
/// The lock is held while a kernel of this crate runs, and never while code of the program does:
/// what that reads is a block of its own. Of threads that want it none is passed over for ever.
pub(crate) struct Heap {
    bytes: usize,
    block: RwLock<Block>,
    /// Where the block's bytes begin. It changes only while the lock is held for writing.
    start: AtomicPtr<u8>,
}

impl Heap {
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Heap> {
        let block = Block::new(bytes, fresh)?;
        let start = AtomicPtr::new(block.start().as_ptr());
        Ok(Heap { bytes, block: RwLock::new(block), start })
    }

    /// Where the bytes begin. Others may move and write them, but while the memory is locked, or
    /// nobody else knows it.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }

    /// The bytes as they are now: who writes them later writes a copy. It waits for kernels that
    /// write them now, and for nothing else.
    pub(crate) fn snapshot(&self) -> Block {
        self.block.read().clone()
    }

    /// Keeps writers away until the guard is dropped.
    pub(super) fn lock_to_read(&self) -> RwLockReadGuard<'_, Block> {
        self.block.read()
    }

    /// Keeps everybody else away until the guard is dropped, from bytes that are no snapshot's.
    ///
    /// # Errors
    /// They were one's, and there is no memory for a copy. Nothing has changed then.
    pub(crate) fn lock_to_write(&self) -> Result<RwLockWriteGuard<'_, Block>> {
        let mut block = self.block.write();
        if !block.is_sole() {
            *block = block.copied(self.bytes)?;
            self.start.store(block.start().as_ptr(), Ordering::Relaxed);
        }
        Ok(block)
    }
}
