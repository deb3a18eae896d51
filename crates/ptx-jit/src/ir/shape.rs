//! The arrangement of a block's threads in its warps.
//!
//! PTX numbers a block's threads with x first, and each 32 of them are a warp. If the extent along x is a
//! multiple of 32, all of a warp's threads have the same `%tid.y`, and their `%tid.x` count up: code for
//! warps of that shape can keep both as one number and a stride.

/// The arrangement of a block's threads in its full warps, as far as it is the same in all of them.
///
/// A warp is taken as rows of lanes: the place of a lane in its row is `lane % width`, its row
/// `lane / width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarpShape {
    /// Rows of so many lanes, 8, 16 or 32: along each `%tid.x` counts up, and from row to row
    /// `%tid.y`.
    Rows(u32),
    /// Nothing is known: each lane has an index of its own.
    Any,
}

impl WarpShape {
    /// The shape of the full warps of a block.
    pub(crate) fn of([x, y, z]: [u32; 3]) -> WarpShape {
        if x.is_multiple_of(32) || y == 1 && z == 1 {
            return WarpShape::Rows(32);
        }
        // A row of threads must not be followed by one of the next plane.
        let fits = |width: u32| x == width && (z == 1 || y.is_multiple_of(32 / width));
        match [16, 8].into_iter().find(|&width| fits(width)) {
            Some(width) => WarpShape::Rows(width),
            None => WarpShape::Any,
        }
    }

    /// The lanes of a row.
    pub(crate) fn width(self) -> u32 {
        match self {
            WarpShape::Rows(width) => width,
            WarpShape::Any => 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_never_wrap_inside_a_warp() {
        let cases = [
            ([256, 1, 1], WarpShape::Rows(32)),
            ([100, 1, 1], WarpShape::Rows(32)),
            ([64, 3, 5], WarpShape::Rows(32)),
            ([16, 16, 1], WarpShape::Rows(16)),
            ([16, 3, 1], WarpShape::Rows(16)),
            ([16, 3, 2], WarpShape::Any),
            ([8, 4, 7], WarpShape::Rows(8)),
            ([8, 6, 7], WarpShape::Any),
            ([5, 7, 1], WarpShape::Any),
        ];
        for (block, shape) in cases {
            assert_eq!(WarpShape::of(block), shape, "{block:?}");
        }
    }
}
