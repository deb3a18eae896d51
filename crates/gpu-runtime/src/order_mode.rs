//! The order mode of the calling thread, and whether it holds use records.

use std::cell::Cell;

/// The order mode: whether work waits by itself for work on other streams that it must come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// It does: a result is as if everything ran in the order in which it was enqueued.
    Automatic,
    /// It does not: the program orders its streams itself, with
    /// [`wait_stream`](crate::Stream::wait_stream) and events, and what it forgets is a race. Uses are
    /// recorded nevertheless, so memory is not given to somebody else before they are over. Uses
    /// that the runtime does not see are announced by [`Uses::record_stream`](crate::Uses::record_stream).
    /// Two things are in order all the same: copies between devices, with the current streams of both
    /// ([`ordered_between`](crate::ordered_between)), and launches of graphs that share a pool.
    Manual,
}

thread_local! {
    static ORDER: Cell<Order> = const { Cell::new(Order::Automatic) };
    /// The number of calls of `ordered` that this thread is in.
    static HOLDING: Cell<u32> = const { Cell::new(0) };
}

/// Runs `f` with the given order in this thread; [`Order::Automatic`] is the default. The order
/// before is restored afterwards, also on a panic.
pub fn with_order<R>(order: Order, f: impl FnOnce() -> R) -> R {
    struct Restore(Order);
    impl Drop for Restore {
        fn drop(&mut self) {
            replace(self.0);
        }
    }
    let _restore = Restore(replace(order));
    f()
}

/// The order mode of this thread.
pub(crate) fn current() -> Order {
    ORDER.get()
}

pub(crate) fn replace(order: Order) -> Order {
    ORDER.replace(order)
}

/// Whether this thread holds use records, so that it must not wait for a device.
pub(crate) fn holds_records() -> bool {
    HOLDING.get() > 0
}

/// A call of `ordered` by this thread, which holds use records until it ends.
pub(crate) struct HoldsRecords;

impl HoldsRecords {
    pub(crate) fn begin() -> HoldsRecords {
        // Records that are locked within the lock of others have no common order.
        debug_assert!(!holds_records(), "`ordered` was called within `ordered`");
        HOLDING.set(HOLDING.get() + 1);
        HoldsRecords
    }
}

impl Drop for HoldsRecords {
    fn drop(&mut self) {
        HOLDING.set(HOLDING.get() - 1);
    }
}
