//! A part of a tensor, by the layouts of both.

use super::{Layout, NoLayout};

/// A part of a tensor: the layouts of the whole and of the part, in the same storage.
#[derive(Clone)]
pub(crate) struct LayoutRegion {
    whole: Layout,
    part: Layout,
}

impl LayoutRegion {
    pub(crate) fn new(whole: Layout, part: Layout) -> LayoutRegion {
        LayoutRegion { whole, part }
    }

    pub(crate) fn whole(&self) -> &Layout {
        &self.whole
    }

    pub(crate) fn part(&self) -> &Layout {
        &self.part
    }

    /// The layout of the part in a storage where the whole begins at `offset`.
    ///
    /// # Errors
    /// The numbers overflow.
    pub(crate) fn part_in(&self, offset: usize) -> Result<Layout, NoLayout> {
        if self.part.numel() == 0 {
            return Ok(self.part.clone());
        }
        // The part begins inside the whole, in the same storage.
        let from_start = self.part.offset().wrapping_sub(self.whole.offset());
        self.part.clone().at(offset.wrapping_add(from_start))
    }

    /// The dimensions of the part along which it repeats its elements.
    pub(crate) fn repeated_dims(&self) -> Vec<isize> {
        let dims = 0..self.part.shape().len();
        dims.filter(|&dim| self.part.repeats(dim)).map(|dim| dim as isize).collect()
    }

    /// The region with each element once: dimensions that repeat have size 1.
    ///
    /// # Errors
    /// There is none; a slice of a layout is a layout.
    pub(crate) fn once(&self) -> Result<LayoutRegion, NoLayout> {
        let mut part = Ok(self.part.clone());
        for dim in (0..self.part.shape().len()).filter(|&dim| self.part.repeats(dim)) {
            part = part.and_then(|part: Layout| part.slice(dim, 0, 1, 1));
        }
        Ok(LayoutRegion { whole: self.whole.clone(), part: part? })
    }
}
