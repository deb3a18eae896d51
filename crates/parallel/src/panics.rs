//! Panics of the program's own code, held back where they happen.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; of a panic its message is left.
///
/// What a panic leaves behind in values that `f` shares with others is their own affair, as with any
/// `Sync` value that is used from several threads.
pub(crate) fn attempt<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(message)
}

/// Drops a value of the program. If its destructor panics, the panic ends here.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard_payload(payload);
    }
}

/// What a panicked thread left behind, as text.
pub(crate) fn message(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    discard_payload(payload);
    text.unwrap_or_else(|| "a value that is no text".to_owned())
}

/// A payload may be any value, so its destructor may panic with another one. That one is leaked:
/// somewhere the chain has to end.
fn discard_payload(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics with another of its kind when it is dropped.
    struct Chain(u32);

    impl Drop for Chain {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Chain(self.0 - 1));
            }
        }
    }

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(attempt(|| 3), Ok(3));
        assert_eq!(attempt(|| -> u8 { panic!("at {}", 7) }), Err("at 7".to_owned()));
        assert_eq!(attempt(|| -> u8 { panic!("plain") }), Err("plain".to_owned()));
    }

    #[test]
    fn payloads_whose_destructors_panic_end_here() {
        discard(Chain(5));
        let message = attempt(|| std::panic::panic_any(Chain(5)));
        assert_eq!(message, Err("a value that is no text".to_owned()));
    }
}
