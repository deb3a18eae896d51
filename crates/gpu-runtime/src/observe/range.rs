//! Observers are told of named ranges.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{is_observed, observers, place, tell};

/// A range of a thread that has a name; see [`range`](crate::range()).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NamedRange<'a> {
    /// Its number, which no other range of the process has.
    pub id: u64,
    /// Its name.
    pub name: &'a str,
    /// The place in the source where it begins.
    pub place: &'static Location<'static>,
}

/// Tells observers that the calling thread enters a range. Its number, if there are any.
#[inline]
pub(crate) fn range_entered(name: &str, at: &'static Location<'static>) -> Option<u64> {
    if is_observed() { told_entered(name, at) } else { None }
}

#[cold]
fn told_entered(name: &str, at: &'static Location<'static>) -> Option<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let observers = observers()?;
    let range = NamedRange { id: NEXT.fetch_add(1, Ordering::Relaxed), name, place: place(at) };
    tell(&observers, |observer| observer.range_entered(&range));
    Some(range.id)
}

/// Tells observers that the calling thread leaves a range which they were told of.
pub(crate) fn range_left(id: u64) {
    if let Some(observers) = observers() {
        tell(&observers, |observer| observer.range_left(id));
    }
}
