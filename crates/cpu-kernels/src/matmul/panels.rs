//! Products of floats in tiles, for which the factors are brought to where they are read fast.
//!
//! A right factor is packed into panels: the columns of a tile, row after row, so that what is read
//! for one tile after the other stays in the nearest caches. A left factor is read where it lies if
//! its rows are dense; otherwise, like the transposed gradients that those of a weight are made of,
//! blocks of it are packed into bands. Factors that lie in the nearest cache as a whole are not
//! packed.

use std::ptr;

use super::bands::Bands;
use super::product::Product;
use super::tile::{MAX_HEIGHT, MAX_VECTORS, TileNumber, TileOperands, TileSizes, multiply_edge};
use crate::instruction_set::InstructionSet;
use crate::loops::CACHE_LINE;
use crate::movers::{Copy2d, copy};
use crate::thread_scratch::with_thread_scratch;

/// The most summed elements of a block, of four bytes each. The result is read and written once for
/// so many, and panels are read from the second-level cache as fast as they are multiplied.
const DEPTH: usize = 512;

/// The most rows of a block: with as many summed elements, a quarter of a cache of 2 MiB.
const ROWS: usize = 256;

/// The most columns of a block, whose panels are half of such a cache.
const COLUMNS: usize = 512;

/// The bytes over which a factor may extend that is not packed, since it stays in the first-level
/// cache.
const NEAR: usize = 1 << 15;

/// The rows of a product up to which a right factor is not packed: it is read too few times.
const FEW_ROWS: usize = 128;

/// Multiplies in the calling thread.
///
/// # Safety
/// The factors are valid for reads and the result for reads and writes with the product's sizes and
/// strides, as elements of `T`. The processor has the set.
pub(super) unsafe fn multiply_in_panels<T: TileNumber>(product: Product, set: InstructionSet) {
    let mut panels = Panels::<T>::new(product, set);
    let [right, left] = [panels.right_len(), panels.left_len()]
        .map(|len| (len * size_of::<T>()).next_multiple_of(CACHE_LINE));
    if right + left == 0 {
        // SAFETY: the conditions are the same, and nothing is packed.
        return unsafe { panels.multiply() };
    }
    with_thread_scratch(right + left, |start| {
        (panels.right, panels.left) = (start.cast(), start.wrapping_add(right).cast());
        // SAFETY: the conditions are the same, and there is room for what is packed.
        unsafe { panels.multiply() }
    });
}

/// A product, and how it is computed.
struct Panels<T> {
    product: Product,
    set: InstructionSet,
    sizes: TileSizes,
    /// The most summed elements, rows and columns of a block.
    depth: usize,
    rows: usize,
    columns: usize,
    /// Whether all of the right factor is packed, or only the columns that fill no vector.
    packs_right: bool,
    packs_left: bool,
    /// The memory for the panels of a block, and for a block of the left factor.
    right: *mut T,
    left: *mut T,
}

/// A block of the product, or a panel of one.
#[derive(Clone, Copy)]
struct ProductBlock {
    row: usize,
    rows: usize,
    col: usize,
    columns: usize,
    deep: usize,
    depth: usize,
}

/// The size of parts that are at most `most`, and multiples of `unit` where there are several.
fn even(size: usize, most: usize, unit: usize) -> usize {
    let parts = size.div_ceil(most).max(1);
    size.div_ceil(parts).next_multiple_of(unit)
}

/// Whether a factor of so many rows and columns extends over so few elements that it stays near.
fn is_near<T>(sizes: [usize; 2], strides: [isize; 2]) -> bool {
    let extent = |along: usize| sizes[along].saturating_mul(strides[along].unsigned_abs());
    extent(0).max(extent(1)) <= NEAR / size_of::<T>()
}

impl<T: TileNumber> Panels<T> {
    fn new(product: Product, set: InstructionSet) -> Panels<T> {
        let Product { m, n, k, a_strides, b_strides, .. } = product;
        let sizes = TileSizes::new::<T>(set);
        let is_right_read_once = m <= FEW_ROWS || is_near::<T>([k, n], b_strides);
        Panels {
            product,
            set,
            sizes,
            depth: even(k.max(1), DEPTH * size_of::<f32>() / size_of::<T>(), 1),
            rows: even(m, ROWS, MAX_HEIGHT),
            columns: even(n, COLUMNS, sizes.lanes),
            packs_right: b_strides[1] != 1 || !is_right_read_once,
            packs_left: a_strides[1] != 1 && !is_near::<T>([m, k], a_strides),
            right: ptr::null_mut(),
            left: ptr::null_mut(),
        }
    }

    /// The most elements of the panels of a block.
    fn right_len(&self) -> usize {
        let is_even = self.product.n.is_multiple_of(self.sizes.lanes);
        match self.packs_right {
            true => self.depth * self.columns,
            false if is_even => 0,
            false => self.depth * self.sizes.lanes * MAX_VECTORS,
        }
    }

    /// The most elements of a block of the left factor.
    fn left_len(&self) -> usize {
        if self.packs_left { Bands::<T>::len(self.rows, self.depth) } else { 0 }
    }

    /// # Safety
    /// The conditions of [`multiply_in_panels`], and `right` and `left` have room for as many
    /// elements as they say.
    unsafe fn multiply(&self) {
        let Product { m, n, k, .. } = self.product;
        for col in (0..n).step_by(self.columns) {
            for deep in (0..k.max(1)).step_by(self.depth) {
                for row in (0..m).step_by(self.rows) {
                    let (rows, columns) = (self.rows.min(m - row), self.columns.min(n - col));
                    let depth = self.depth.min(k - deep);
                    // SAFETY: the block lies in the product, and those above it came before
                    // (conditions of this function).
                    unsafe { self.block(ProductBlock { row, rows, col, columns, deep, depth }) };
                }
            }
        }
    }

    /// # Safety
    /// The conditions of [`Panels::multiply`], for a block of the product. Blocks above it in the
    /// same columns, and with the same summed elements, were computed just before.
    unsafe fn block(&self, block: ProductBlock) {
        let lanes = self.sizes.lanes;
        if self.packs_left {
            let bands = Bands {
                to: self.left,
                from: self.left_at(block.row, block.deep),
                strides: self.product.a_strides,
                rows: block.rows,
                columns: block.depth,
            };
            // SAFETY: the block's part lies in the factor, and there is room for it.
            unsafe { bands.pack(self.set) };
        }
        let mut done = 0;
        while done < block.columns {
            let rest = block.columns - done;
            let vectors = self.sizes.next_vectors(rest.div_ceil(lanes));
            let columns = rest.min(vectors * lanes);
            let panel = ProductBlock { col: block.col + done, columns, ..block };
            let packed = if self.packs_right { done * block.depth } else { 0 };
            // SAFETY: the panel lies in the block, and there is room for all panels of one, or for
            // the one that has to be packed.
            unsafe {
                let (right, row) = self.right_of(&panel, vectors, packed);
                self.panel(&panel, vectors, right, row);
            }
            done += columns;
        }
    }

    /// The address of an element of the left factor.
    fn left_at(&self, row: usize, deep: usize) -> *const T {
        let [down, right] = self.product.a_strides;
        self.product.a.cast::<T>().wrapping_offset(row as isize * down + deep as isize * right)
    }

    /// The panel's part of the right factor in whole vectors, and the distance of its rows. If it is
    /// packed, it is so many elements from the first one, and was packed for the topmost block.
    ///
    /// # Safety
    /// The conditions of [`Panels::block`], for a panel of it.
    unsafe fn right_of(
        &self,
        panel: &ProductBlock,
        vectors: usize,
        packed: usize,
    ) -> (*const T, isize) {
        let strides = self.product.b_strides;
        let offset = panel.deep as isize * strides[0] + panel.col as isize * strides[1];
        let start = self.product.b.cast::<T>().wrapping_offset(offset);
        let width = vectors * self.sizes.lanes;
        if !self.packs_right && panel.columns == width {
            return (start, strides[0]);
        }
        let to = self.right.wrapping_add(packed);
        if panel.row == 0 || !self.packs_right {
            let part = Copy2d {
                to: to.cast(),
                from: start.cast(),
                sizes: [panel.depth, panel.columns],
                to_strides: [width as isize, 1],
                from_strides: strides,
            };
            // SAFETY: the panel lies in the factor, and there is room for it with what only fills
            // up its last vector (conditions of this function).
            unsafe {
                if panel.columns < width {
                    to.write_bytes(0, panel.depth * width);
                }
                copy(size_of::<T>(), self.set)(part);
            }
        }
        (to, width as isize)
    }

    /// Computes the tiles of a panel, one below the other.
    ///
    /// # Safety
    /// The conditions of [`Panels::block`], for a panel of it, whose right factor has whole vectors.
    unsafe fn panel(&self, panel: &ProductBlock, vectors: usize, b: *const T, b_row: isize) {
        let width = vectors * self.sizes.lanes;
        let mut done = 0;
        while done < panel.rows {
            let row = panel.row + done;
            let height = self.sizes.next_height(panel.rows - done);
            let (a, a_strides) = match self.packs_left {
                true => (Bands::row(self.left, done, panel.depth), [1, MAX_HEIGHT as isize]),
                false => (self.left_at(row, panel.deep), self.product.a_strides),
            };
            let c_row = self.product.c_row;
            let offset = row as isize * c_row + panel.col as isize;
            let tile = TileOperands {
                k: panel.depth,
                a,
                a_strides,
                b,
                b_row,
                c: self.product.c.cast::<T>().wrapping_offset(offset),
                c_row,
                accumulate: self.product.accumulate || panel.deep > 0,
            };
            let kernel = self.sizes.kernel::<T>(height, vectors);
            // SAFETY: the tile's factors and result are parts of the panel's.
            unsafe {
                if panel.columns == width {
                    kernel(tile);
                } else {
                    multiply_edge(kernel, tile, [height, panel.columns], width);
                }
            }
            done += height;
        }
    }
}
