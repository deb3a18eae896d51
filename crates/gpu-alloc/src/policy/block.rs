//! The words that policies share: addresses, names of streams, and the block that is handed out.

use std::fmt;

use super::slab::SlabIndex;

/// An address in the memory that a source gives out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub u64);

/// The name of a stream. A policy only compares the names; two streams never have the same one.
pub trait StreamName: Copy + Ord + fmt::Debug {}

impl<T: Copy + Ord + fmt::Debug> StreamName for T {}

/// The name of a pool whose memory is kept apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolId(pub u64);

/// A pool, and whom it serves. What it has for graphs and what it has for a program are two memories,
/// also where one name stands for both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PoolOf {
    /// Graphs may use its memory whether or not anybody holds it, as long as it lives.
    Graphs(PoolId),
    /// A part of a program has it to itself.
    Program(PoolId),
}

impl PoolOf {
    /// Its name.
    pub fn id(self) -> PoolId {
        match self {
            PoolOf::Graphs(id) | PoolOf::Program(id) => id,
        }
    }
}

/// The owner that memory is handed out to: a stream, on which it can be reused without waiting, and
/// perhaps a pool that is kept apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamAndPool<K> {
    /// The pool; `None` for the one that serves all others.
    pub pool: Option<PoolOf>,
    /// The stream.
    pub stream: K,
}

impl<K> From<K> for StreamAndPool<K> {
    fn from(stream: K) -> StreamAndPool<K> {
        StreamAndPool { pool: None, stream }
    }
}

/// Memory handed out by a policy, to be given back to the same policy. It cannot be copied, hence
/// not freed twice.
#[derive(Debug)]
#[must_use = "the memory stays taken until the block is given back to its policy"]
pub struct Block {
    pub(super) slot: SlabIndex,
    pub(super) address: Address,
    pub(super) bytes: u64,
    pub(super) last_use: u64,
    pub(super) is_recycled: bool,
    pub(super) is_shared: bool,
}

impl Block {
    /// The first byte.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The size in bytes, at least what was asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Two small numbers that no other block has which the same policy has handed out and not got
    /// back: a place for what somebody else keeps about the block. The first is that of a part of the
    /// policy's memory, and the second that of the block there.
    pub fn place(&self) -> (usize, usize) {
        (self.slot.slab(), self.slot.index())
    }

    /// The last work on the block's own stream that used any part of the memory before; 0 if there
    /// was none.
    ///
    /// On that stream the order of the queue protects it. Work on any other stream must come after
    /// this one: nothing else keeps the new owner there from overtaking the old owner here.
    pub fn last_use(&self) -> u64 {
        self.last_use
    }

    /// Whether work on other streams may have used any part of the memory before, which
    /// [`waits_for`](super::Policy::waits_for) tells.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether any part of the memory was handed out before.
    pub fn is_recycled(&self) -> bool {
        self.is_recycled
    }
}

/// A block that was given to a policy that did not hand it out.
#[derive(Debug, thiserror::Error)]
#[error(
    "a block of {} bytes at {} was given back to a policy that did not hand it out",
    .0.bytes, .0.address
)]
pub struct ForeignBlock(pub Block);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
