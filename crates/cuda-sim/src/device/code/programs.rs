//! The programs that are loaded: a text that several devices load, or one device several times, is
//! parsed once, and each of its kernels is translated once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use ptx_jit::Program;

/// By their texts. A program goes with the last module or library that was loaded from it.
static LOADED: Mutex<Option<HashMap<Box<str>, Weak<Program>>>> = Mutex::new(None);

/// The program of a text, as `read` reads it, unless it is loaded already.
///
/// # Errors
/// Those of `read`. Nothing is kept of a text that is refused.
pub(in crate::device) fn of_text<E>(
    text: &str,
    read: impl FnOnce() -> Result<Program, E>,
) -> Result<Arc<Program>, E> {
    let known = lock().as_ref().and_then(|loaded| loaded.get(text)?.upgrade());
    if let Some(program) = known {
        return Ok(program);
    }
    // Without the lock, since it takes long. Another thread that reads the same text may be first.
    let program = Arc::new(read()?);
    let mut loaded = lock();
    let loaded = loaded.get_or_insert_default();
    loaded.retain(|_, program| program.strong_count() > 0);
    match loaded.get(text).and_then(Weak::upgrade) {
        Some(first) => Ok(first),
        None => {
            loaded.insert(text.into(), Arc::downgrade(&program));
            Ok(program)
        }
    }
}

fn lock() -> MutexGuard<'static, Option<HashMap<Box<str>, Weak<Program>>>> {
    LOADED.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Arc<Program>, ptx::Error> {
        of_text(text, || Program::load(text))
    }

    #[test]
    fn a_text_is_one_program_for_as_long_as_somebody_has_it() {
        let head = ".version 8.0 .target sm_80 .address_size 64";
        let (one, other) = (
            format!("{head} .entry one() {{ ret; }}"),
            format!("{head} .entry other() {{ ret; }}"),
        );
        let first = load(&one).expect("valid PTX");
        assert!(Arc::ptr_eq(&first, &load(&one).expect("valid PTX")));
        assert!(!Arc::ptr_eq(&first, &load(&other).expect("valid PTX")));
        let last = Arc::downgrade(&first);
        drop(first);
        assert!(last.upgrade().is_none(), "nobody has it");
        assert_eq!(load(&one).expect("valid PTX").kernel_names().collect::<Vec<_>>(), ["one"]);
    }

    #[test]
    fn a_text_that_is_refused_is_refused_again() {
        for _ in 0..2 {
            assert!(load("no PTX").is_err());
        }
    }
}
