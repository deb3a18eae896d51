//! The operands of one product.

/// A product of two matrices, or a tile of one.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) c: *mut u8,
    pub(super) a: *const u8,
    pub(super) b: *const u8,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// The distance of rows of `c`; its columns are neighbours.
    pub(super) c_row: isize,
    pub(super) a_strides: [isize; 2],
    pub(super) b_strides: [isize; 2],
    pub(super) accumulate: bool,
}
