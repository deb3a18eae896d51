//! Accesses to memory.

use crate::types::{ScalarType, StateSpace};

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryForm {
    /// The space that the address points to.
    pub space: StateSpace,
    /// The type of one value.
    pub ty: ScalarType,
    /// 1, 2, 4 or 8 values.
    pub count: u8,
    /// The ordering that other threads may rely on.
    pub order: MemoryOrder,
}

/// The ordering that a memory access promises to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    /// Nothing: it may be moved and merged within the thread.
    Weak,
    /// It happens when it is written; also acquire.
    Strong,
    /// A release: who sees this access sees all that the thread did before.
    Release,
    /// Nothing, not even to the own thread, before that has waited for its copies: a store of
    /// `cp.async`.
    Asynchronous,
}

impl MemoryOrder {
    /// Whether accesses of other threads at the same time are no race with it, if they are strong too.
    #[must_use]
    pub fn is_strong(self) -> bool {
        matches!(self, MemoryOrder::Strong | MemoryOrder::Release)
    }
}

/// The steps by which a thread waits for its asynchronous copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyGroup {
    /// `cp.async.commit_group`: the copies since the last one are a group.
    Commit,
    /// `cp.async.wait_group`: waits for all groups but the last ones.
    Wait {
        /// The number of groups that are not waited for.
        pending: u32,
    },
}

/// An atomic operation on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicForm {
    /// [`MemoryOrder::Weak`] where the text says nothing, which means relaxed here.
    pub order: MemoryOrder,
    /// The function that changes the value in memory.
    pub op: AtomicOp,
    /// The type of the value.
    pub ty: ScalarType,
    /// The space that the address points to.
    pub space: StateSpace,
}

/// The functions of atomic operations: from the old value and operand b to the new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// old + b.
    Add,
    /// old & b.
    And,
    /// old | b.
    Or,
    /// old ^ b.
    Xor,
    /// b.
    Exchange,
    /// c where old is b, else old.
    CompareExchange,
    /// old >= b ? 0 : old + 1.
    Increment,
    /// old == 0 || old > b ? b : old - 1.
    Decrement,
    /// The smaller of old and b.
    Minimum,
    /// The larger of old and b.
    Maximum,
}
