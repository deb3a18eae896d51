//! Locks of several things at once.

use std::cmp::Reverse;
use std::ptr;

use smallvec::SmallVec;

use super::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what each operand names, once, in the order of addresses, which is the same for every
/// thread: so none waits for another that waits for it. Of operands that name the same, one that
/// `is_strong` stays.
pub(crate) fn hold<'a, T, O>(
    operands: impl Iterator<Item = O>,
    named: impl Fn(&O) -> &'a Mutex<T>,
    is_strong: impl Fn(&O) -> bool,
) -> SmallVec<[(O, MutexGuard<'a, T>); 8]> {
    let address = |operand: &O| ptr::from_ref(named(operand)).addr();
    let mut operands: SmallVec<[O; 8]> = operands.collect();
    operands.sort_unstable_by_key(|operand| (address(operand), Reverse(is_strong(operand))));
    operands.dedup_by_key(|operand| address(operand));
    let lock = |operand: O| {
        let guard = named(&operand).lock().unwrap_or_else(PoisonError::into_inner);
        (operand, guard)
    };
    operands.into_iter().map(lock).collect()
}
