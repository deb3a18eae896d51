//! Which accesses were done before those of a running block's threads.

use std::sync::Arc;

use super::check_kinds::CheckKinds;
use super::operation::CheckedOperation;
use super::record::{AccessClass, AccessRecord};
use super::threads::Threads;

/// The order of a block's accesses among each other, and after those of others.
pub(crate) struct BlockOrder {
    kinds: CheckKinds,
    /// The operation that the block belongs to.
    pub(crate) operation: Option<Arc<CheckedOperation>>,
    /// The number of the block.
    pub(crate) block: u32,
    pub(crate) threads: Threads,
    /// Operations that were met lately, and whether this one comes after them.
    met: Vec<(u32, bool)>,
}

/// The number of operations that are remembered, so that a look through them stays short.
const MAX_MET: usize = 16;

impl BlockOrder {
    /// The order of blocks of so many threads.
    pub(crate) fn new(
        kinds: CheckKinds,
        operation: Option<Arc<CheckedOperation>>,
        threads: usize,
    ) -> BlockOrder {
        BlockOrder { kinds, operation, block: 0, threads: Threads::new(threads), met: Vec::new() }
    }

    /// The operation as memory remembers it.
    pub(crate) fn operation_bits(&self) -> u32 {
        self.operation.as_ref().map_or(0, |operation| operation.bits())
    }

    /// Whether the author of a record was done before an access of that class of a thread.
    pub(crate) fn is_after(
        &mut self,
        record: AccessRecord,
        class: AccessClass,
        thread: u32,
    ) -> bool {
        let Some(operation) = &self.operation else { return true };
        let bits = record.operation();
        if bits == operation.bits() {
            return !self.kinds.has(CheckKinds::GLOBAL)
                || self.knows(thread, record.block(), record);
        }
        let is_strong = || record.class().is_some_and(AccessClass::is_strong);
        if !self.kinds.has(CheckKinds::STREAMS) || class.is_strong() && is_strong() {
            return true;
        }
        if let Some(&(_, after)) = self.met.iter().find(|&&(met, _)| met == bits) {
            return after;
        }
        let after = operation.is_after(bits);
        self.met.insert(0, (bits, after));
        self.met.truncate(MAX_MET);
        after
    }

    /// Whether a thread knows what a record's author did, who was in that block of the launch.
    pub(crate) fn knows(&self, thread: u32, block: u32, record: AccessRecord) -> bool {
        let (author, clock) = (record.thread(), record.clock());
        if block == self.block && (author == thread || self.threads.knows(thread, author, clock)) {
            return true;
        }
        let acquired = self.threads.known(thread).acquired();
        !acquired.is_empty()
            && self
                .operation
                .as_ref()
                .is_some_and(|operation| operation.flags.know(acquired, block, author, clock))
    }
}
