//! A translator for warps that panics when a test says so.

use std::cell::Cell;

thread_local! {
    pub(crate) static BROKEN: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn perhaps_panic() {
    assert!(!BROKEN.get(), "a mistake in the translator, on purpose");
}
