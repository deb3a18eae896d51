//! Why the machine could not be made, in words.

use parking_lot::Mutex;

/// Why the last `cuInit` failed.
static WHY_NOT: Mutex<Option<String>> = Mutex::new(None);

/// Notes why `cuInit` fails.
pub(crate) fn note_why_not_initialised(why: String) {
    tracing::error!("{why}");
    *WHY_NOT.lock() = Some(why);
}

/// Why the last `cuInit` failed, if it did and there is more to say than its error does.
pub(crate) fn why_not_initialised() -> Option<String> {
    WHY_NOT.lock().clone()
}
