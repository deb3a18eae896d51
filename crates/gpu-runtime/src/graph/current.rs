//! The capture that a thread is in: where its work goes, whichever stream that is on.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::books::Books;
use super::mode::{self, CaptureMode};
use crate::error::Result;
use crate::order::{self, Order};
use crate::stream::Stream;

thread_local! {
    static CURRENT: RefCell<Weak<Books>> = const { RefCell::new(Weak::new()) };
}

/// The capture that work which this thread enqueues on a stream goes to; nothing if it runs.
///
/// The stream may take part already, or it becomes part now: with automatic order, all that a thread
/// enqueues in a capture belongs to it.
///
/// # Errors
/// The driver's, if it does not let the stream take part.
#[inline]
pub(crate) fn joined(stream: &Stream) -> Result<Option<Arc<Books>>> {
    if mode::any() { join(stream) } else { Ok(None) }
}

/// The capture that a stream takes part in.
#[inline]
pub(crate) fn of(stream: &Stream) -> Option<Arc<Books>> {
    if mode::any() { stream.capture_slot().clone() } else { None }
}

#[cold]
fn join(stream: &Stream) -> Result<Option<Arc<Books>>> {
    if let Some(books) = stream.capture_slot().clone() {
        return Ok(Some(books));
    }
    match get() {
        Some(books) if order::current() == Order::Automatic => {
            let is_in = books.take_in(stream)?;
            Ok(is_in.then_some(books))
        }
        _ => Ok(None),
    }
}

/// The capture that the calling thread is in.
pub(crate) fn get() -> Option<Arc<Books>> {
    CURRENT.try_with(|current| current.borrow().upgrade()).ok().flatten()
}

/// Enters a capture, or none. Returns the one before.
pub(crate) fn replace(books: Weak<Books>) -> Weak<Books> {
    CURRENT.try_with(|current| current.replace(books)).unwrap_or_default()
}

/// The mode of the capture that began in this thread.
pub(super) fn mode() -> Option<CaptureMode> {
    get().filter(|books| books.began_here()).map(|books| books.mode)
}
