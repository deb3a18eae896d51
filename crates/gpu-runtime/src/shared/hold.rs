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
    let mut all: SmallVec<[O; 8]> = SmallVec::new();
    let mut order: LockingOrder = SmallVec::new();
    for operand in operands {
        let address = ptr::from_ref(named(&operand)).addr();
        order.push((address, Reverse(is_strong(&operand)), all.len()));
        all.push(operand);
    }
    sort(&mut order);
    for &(_, _, number) in &order {
        let operand = all[number];
        held.push(made(operand, named(&operand).lock()));
    }
}

/// The address of a lock, whether who asks for it is strong, and the number of who asks.
type LockingOrder = SmallVec<[(usize, Reverse<bool>, usize); 8]>;

/// Brings locks into the order of addresses, each once. It is not generic, since a sort takes long to
/// compile.
fn sort(order: &mut LockingOrder) {
    order.sort_unstable();
    order.dedup_by_key(|(address, ..)| *address);
}
