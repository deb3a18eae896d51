//! The checks that are on.

use std::sync::atomic::{AtomicU8, Ordering};

use super::check_kinds::CheckKinds;

static KINDS: AtomicU8 = AtomicU8::new(0);

/// Switches checks on: before there are devices.
pub fn enable(kinds: CheckKinds) {
    KINDS.store(kinds.bits(), Ordering::Release);
}

/// The checks that are on.
pub fn kinds() -> CheckKinds {
    CheckKinds::from_bits(KINDS.load(Ordering::Relaxed))
}

/// Whether any checks are on.
pub fn is_on() -> bool {
    KINDS.load(Ordering::Relaxed) != 0
}
