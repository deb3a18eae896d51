//! Products of small blocks, whose results are padded to whole vectors.

use crate::instruction_set::InstructionSet;
use crate::matmul::tile::{TileNumber, TileOperands, TileSizes};
use crate::movers::{Copy2d, copy};

/// Multiplies: `rows` rows of a left factor by a right one of so many whole vectors.
///
/// # Safety
/// The operands are valid with these sizes, and the processor has the sizes' instruction set.
pub(super) unsafe fn multiply<V: TileNumber>(
    sizes: TileSizes,
    [rows, vectors]: [usize; 2],
    product: &TileOperands<V>,
) {
    let mut right = 0;
    while right < vectors {
        let across = sizes.next_vectors(vectors - right);
        let column = right * sizes.lanes;
        let mut row = 0;
        while row < rows {
            let height = sizes.next_height(rows - row);
            let kernel = sizes.kernel::<V>(height, across);
            let down = row as isize;
            let tile = TileOperands {
                a: product.a.wrapping_offset(down * product.a_strides[0]),
                b: product.b.wrapping_add(column),
                c: product.c.wrapping_offset(down * product.c_row).wrapping_add(column),
                ..*product
            };
            // SAFETY: the tile's factors and result are parts of the product's.
            unsafe { kernel(tile) };
            row += height;
        }
        right += across;
    }
}

/// Rows as a right factor: where they lie if they fill whole vectors, else where they were copied to.
#[derive(Clone, Copy)]
pub(super) struct WholeRows<V> {
    pub(super) start: *const V,
    /// The distance of rows.
    pub(super) row: isize,
}

impl<V: TileNumber> WholeRows<V> {
    /// So many elements, rounded up to whole vectors.
    pub(super) fn width(columns: usize, sizes: TileSizes) -> usize {
        columns.next_multiple_of(sizes.lanes)
    }

    /// The elements of `room` that rows take which are copied; 0 if they are not.
    pub(super) fn copied(rows: usize, columns: usize, sizes: TileSizes) -> usize {
        let width = WholeRows::<V>::width(columns, sizes);
        if width == columns { 0 } else { rows * width }
    }

    /// The rows at an address, copied to `room` if they do not fill whole vectors.
    ///
    /// # Safety
    /// They are valid for reads, and `room` for writes of [`WholeRows::copied`] elements. The
    /// processor has the sizes' instruction set.
    pub(super) unsafe fn new(
        (start, row): (*const V, isize),
        [rows, columns]: [usize; 2],
        room: *mut V,
        sizes: TileSizes,
    ) -> WholeRows<V> {
        let width = WholeRows::<V>::width(columns, sizes);
        if width == columns {
            return WholeRows { start, row };
        }
        let to_strides = [width as isize, 1];
        let part = Copy2d {
            to: room.cast(),
            from: start.cast(),
            sizes: [rows, columns],
            to_strides,
            from_strides: [row, 1],
        };
        // SAFETY: the rows are valid, and there is room for them with what fills up vectors.
        unsafe {
            room.write_bytes(0, rows * width);
            copy(size_of::<V>(), sizes.set)(part);
        }
        WholeRows { start: room, row: width as isize }
    }
}

/// Copies rows to columns of a dense array with `width` columns; what they do not fill becomes zero.
///
/// # Safety
/// The rows are valid for reads, and `to` for writes of `columns` times `width` elements. The processor
/// has the set.
pub(super) unsafe fn transpose<V: TileNumber>(
    to: *mut V,
    (start, row): (*const V, isize),
    [rows, columns]: [usize; 2],
    width: usize,
    set: InstructionSet,
) {
    let part = Copy2d {
        to: to.cast(),
        from: start.cast(),
        sizes: [columns, rows],
        to_strides: [width as isize, 1],
        from_strides: [1, row],
    };
    // SAFETY: the rows are valid, and there is room for them (conditions of this function).
    unsafe {
        if rows < width {
            to.write_bytes(0, columns * width);
        }
        copy(size_of::<V>(), set)(part);
    }
}
