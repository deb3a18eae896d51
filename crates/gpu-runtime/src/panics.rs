//! Panics of the program's own code, held back where they happen: in the destructors, callbacks and
//! closures that a program hands over, and that run on other threads or under the driver.
//!
//! ```
//! use gpu_runtime::panics::attempt;
//!
//! assert_eq!(attempt(|| 3), Ok(3));
//! assert_eq!(attempt(|| -> u8 { panic!("at {}", 7) }), Err("at 7".to_owned()));
//! ```

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most payloads that are dropped whose destructors panic with one another.
const MAX_CHAIN: usize = 16;

/// Runs `f`; of a panic its message is left, as [`message`] gives it.
///
/// What a panic leaves behind in values that `f` shares with others is their own affair, as with any
/// `Sync` value that is used from several threads.
///
/// # Errors
/// The message of the panic.
pub fn attempt<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(message)
}

/// Drops a value of the program. If its destructor panics, the panic ends here.
pub fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard_payload(payload);
    }
}

/// The message of a panic, from the payload that `catch_unwind` gives. For a payload that is no text,
/// the message says so.
pub fn message(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    discard_payload(payload);
    text.unwrap_or_else(|| "a value that is no text".to_owned())
}

/// A payload may be any value, so its destructor may panic with another one, and so on. Somewhere the
/// chain has to end: the last is leaked.
fn discard_payload(mut payload: Box<dyn Any + Send>) {
    for _ in 0..MAX_CHAIN {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(another) => payload = another,
        }
    }
    mem::forget(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics with another of its kind when it is dropped.
    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            std::panic::panic_any(PanicsAgain);
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
        discard(PanicsAgain);
        let message = attempt(|| std::panic::panic_any(PanicsAgain));
        assert_eq!(message, Err("a value that is no text".to_owned()));
    }
}
