//! Chunks of physical memory.

use super::arena::ArenaId;
use super::pages::PAGE;
use crate::policy::Physical;

/// Physical memory that was made at once, and moves as a whole.
#[derive(Debug)]
pub(super) struct PhysicalChunk {
    pub(super) physical: Physical,
    pub(super) pages: u64,
    /// Where it is used, if it is anywhere: the arena and the first page.
    pub(super) home: Option<(ArenaId, u64)>,
}

impl PhysicalChunk {
    pub(super) fn bytes(&self) -> u64 {
        self.pages * PAGE
    }
}
