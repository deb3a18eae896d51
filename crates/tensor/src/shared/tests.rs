//! Handles of one thread. `tests/interleavings` has those of several.

use super::Counted;

struct Noting<'a>(&'a std::cell::Cell<u32>);

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_value_is_dropped_once_with_its_last_handle() {
    let drops = std::cell::Cell::new(0);
    let first = Counted::new(Noting(&drops));
    let (second, weak) = (first.clone(), Counted::downgrade(&first));
    assert!(Counted::ptr_eq(&first, &second) && Counted::handles(&first) == 2);
    drop(first);
    let upgraded = weak.upgrade().expect("there is a handle");
    drop((second, upgraded));
    assert!(weak.upgrade().is_none() && weak.clone().upgrade().is_none());
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_value_is_moved_out_by_the_last_handle_only() {
    let drops = std::cell::Cell::new(0);
    let first = Counted::new(Noting(&drops));
    let (second, weak) = (first.clone(), Counted::downgrade(&first));
    assert!(Counted::into_inner(first).is_none());
    let value = Counted::into_inner(second).expect("it is the last");
    assert!(weak.upgrade().is_none() && drops.get() == 0);
    drop((value, weak));
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_value_is_changed_only_where_nobody_else_has_or_gets_it() {
    let mut first = Counted::new(1);
    *Counted::get_mut(&mut first).expect("it is the only one") += 1;
    let weak = Counted::downgrade(&first);
    assert!(Counted::get_mut(&mut first).is_none());
    drop(weak);
    let second = first.clone();
    assert!(Counted::get_mut(&mut first).is_none());
    drop(second);
    assert_eq!(Counted::get_mut(&mut first), Some(&mut 2));
}
