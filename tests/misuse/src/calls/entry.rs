//! A call that can be made again and again, and the functions that it tries.

use crate::draw::Draw;

/// Something to call with arguments that are drawn.
pub(crate) struct CallEntry {
    /// The functions that it tries.
    pub(crate) names: &'static [&'static str],
    /// Draws and calls; nothing if there is nothing to call it with.
    pub(crate) run: fn(&mut Draw) -> Option<()>,
}

/// Entries of the functions named, each with what calls them.
macro_rules! entries {
    ($($($name:literal),+ => $run:expr;)*) => {
        &[$(crate::calls::entry::CallEntry { names: &[$($name),+], run: $run }),*]
    };
}
pub(super) use entries;
