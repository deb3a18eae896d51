//! Locks of several things at once.

use std::cmp::Reverse;
use std::ptr;

use smallvec::SmallVec;

use super::sync::{Mutex, MutexGuard};

/// Locks what each operand names, once, in the order of addresses, which is the same for every
/// thread: so none waits for another that waits for it. Of operands that name the same, one that
/// `is_strong` stays. What is made of each, and of its lock, is added to `held`.
///
/// Every launch comes through here. The lists stay where they are: to move one is to copy all of its
/// room.
pub(crate) fn hold<'a, T: 'a, O: Copy, H>(
    operands: impl Iterator<Item = O>,
    named: impl Fn(&O) -> &'a Mutex<T>,
    is_strong: impl Fn(&O) -> bool,
    made: impl Fn(O, MutexGuard<'a, T>) -> H,
    held: &mut SmallVec<[H; 8]>,
) {
    let address = |operand: &O| ptr::from_ref(named(operand)).addr();
    let mut sorted: SmallVec<[O; 8]> = SmallVec::new();
    for operand in operands {
        sorted.push(operand);
    }
    sorted.sort_unstable_by_key(|operand| (address(operand), Reverse(is_strong(operand))));
    sorted.dedup_by_key(|operand| address(operand));
    for &operand in &sorted {
        let guard = named(&operand).lock();
        held.push(made(operand, guard));
    }
}
