//! Work that accessed memory, as the checker remembers it.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use crate::types::{Access, Allocation, Work, WorkId};

/// A piece of work, shared by all that it accessed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) id: WorkId,
    pub(super) work: Work,
    pub(super) place: &'static Location<'static>,
}

/// An access that later ones may have to come after.
#[derive(Debug, Clone)]
pub(super) struct PriorAccess {
    pub(super) act: Arc<Act>,
    /// The memory that was there, if it has been given back since.
    pub(super) former: Option<Arc<Allocation>>,
}

/// An earlier access that a later one does not come after.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) earlier: PriorAccess,
    pub(super) earlier_access: Access,
    pub(super) later_access: Access,
    /// The bytes that both access, by the addresses of the later one.
    pub(super) range: Range<u64>,
    /// The location of the first of them.
    pub(super) place: u64,
}
