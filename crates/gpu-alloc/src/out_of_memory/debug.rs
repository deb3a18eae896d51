//! The error for who looks at values: short, as `unwrap` shows it.

use std::fmt;

use super::OutOfMemory;

impl fmt::Debug for OutOfMemory {
    /// Holders are counted; the fields have them all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutOfMemory")
            .field("device", &self.device)
            .field("requested", &self.requested)
            .field("place", &format_args!("{}", self.place))
            .field("cause", &self.cause)
            .field("total", &self.total)
            .field("free", &self.free)
            .field("limit", &self.limit)
            .field("allocated", &self.allocated)
            .field("reserved", &self.reserved)
            .field("pending", &self.pending)
            .field("cached", &self.cached())
            .field("largest_free_block", &self.largest_free_block)
            .field("holders", &self.holders.len())
            .field("enough_to_release", &self.enough_to_release.len())
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}
