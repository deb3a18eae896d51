//! Accesses to memory.

use crate::types::{ScalarType, StateSpace};

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryForm {
    /// Where the address points.
    pub space: StateSpace,
    /// Of one value.
    pub ty: ScalarType,
    /// 1, 2, 4 or 8 values.
    pub count: u8,
    /// What others may rely on.
    pub order: MemoryOrder,
}

/// What a memory access promises to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    /// Nothing: it may be moved and merged within the thread.
    Weak,
    /// It happens when it is written; also acquire.
    Strong,
    /// What the thread did before is seen by who sees this.
    Release,
}

/// An atomic operation on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicForm {
    /// [`MemoryOrder::Weak`] where the text says nothing, which means relaxed here.
    pub order: MemoryOrder,
    /// What is done to the value in memory.
    pub op: AtomicOp,
    /// Of the value.
    pub ty: ScalarType,
    /// Where the address points.
    pub space: StateSpace,
}

/// What an atomic operation makes of the old value and its operand b.
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
