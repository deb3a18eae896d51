//! Handles on tensors, storages and nodes: the last one drops the value, after all that others did with
//! it, and weak ones never get a value that is gone.

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::counted::Counted;
use crate::in_every_order;

/// A value which loom watches: who uses it while another thread drops it makes the test fail.
struct Value {
    uses: Cell<u64>,
    drops: Arc<AtomicUsize>,
}

impl Value {
    fn new(drops: &Arc<AtomicUsize>) -> Counted<Value> {
        Counted::new(Value { uses: Cell::new(0), drops: Arc::clone(drops) })
    }

    fn read(&self) -> u64 {
        self.uses.get()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.uses.set(1);
        assert_eq!(self.drops.fetch_add(1, Ordering::Relaxed), 0, "it is dropped once");
    }
}

#[test]
fn the_last_of_two_handles_drops_the_value_after_both_have_used_it() {
    in_every_order(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let first = Value::new(&drops);
        let second = first.clone();
        assert!(Counted::ptr_eq(&first, &second) && Counted::id(&first) == Counted::id(&second));
        let other = thread::spawn(move || {
            second.read();
        });
        first.read();
        assert!(
            matches!(Counted::handles(&first), 1 | 2),
            "the other thread may have dropped its own"
        );
        drop(first);
        other.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_weak_handle_gets_the_value_as_long_as_there_is_a_handle_and_then_keeps_it() {
    in_every_order(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let first = Value::new(&drops);
        let weak = Counted::downgrade(&first);
        let other = thread::spawn(move || {
            let was_alive = weak.is_alive();
            if let Some(value) = weak.upgrade() {
                assert!(was_alive, "it cannot come back to life");
                drop(weak);
                value.read();
            }
        });
        first.read();
        drop(first);
        other.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_handle_that_was_made_weak_and_strong_again_elsewhere_is_not_overlooked_by_the_last_one() {
    in_every_order(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut first = Value::new(&drops);
        let second = first.clone();
        let other = thread::spawn(move || {
            let weak = Counted::downgrade(&second);
            drop(second);
            if let Some(value) = weak.upgrade() {
                drop(weak);
                value.read();
            }
        });
        if let Some(value) = Counted::get_mut(&mut first) {
            value.uses.set(2);
        }
        if let Some(value) = Counted::into_inner(first) {
            value.read();
        }
        other.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_handle_on_a_value_of_a_type_without_a_size_drops_it_like_any_other() {
    in_every_order(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let value = Value::new(&drops);
        let read = Counted::new(move || value.read());
        // SAFETY: the pointer is given back as it is.
        let read = unsafe { Counted::unsize::<dyn Fn() -> u64>(read, |pointer| pointer) };
        let other = read.clone();
        assert_eq!((read(), other()), (0, 0));
        drop(read);
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        drop(other);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}
