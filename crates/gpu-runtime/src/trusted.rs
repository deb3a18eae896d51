//! Values that somebody vouches for.

/// A value that is believed, since who made this has vouched for it: a source of memory, say, whose
/// addresses devices work on.
///
/// What one vouches for is said by the function that takes the value. To vouch is `unsafe`, and to
/// take what is vouched for is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trusted<T>(T);

impl<T> Trusted<T> {
    /// Vouches for a value.
    ///
    /// # Safety
    /// The value keeps to what is asked of it where it is taken: that function's documentation has a
    /// list, under the heading "What is vouched for".
    pub unsafe fn new(value: T) -> Trusted<T> {
        Trusted(value)
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value, which nobody vouches for any more: where it is taken it may be changed, and here it
    /// may not.
    pub fn into_inner(self) -> T {
        self.0
    }
}
