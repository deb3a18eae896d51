//! Dense matrices of floats, whose rows are read and written in pieces, as the values that they are
//! computed as.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use expression::DType;

use crate::convert::{Load, LoadArguments, Loaded, Store};
use crate::instruction_set::InstructionSet;
use crate::shared_pointer::SharedPointer;

/// Bytes of the values of a piece: some of them fit into the cache of first level.
const PIECE_BYTES: usize = 8192;

/// The most values of a piece.
const PIECE: usize = PIECE_BYTES / 4;

/// Room for the values of a piece.
pub(crate) type PieceRoom<V> = MaybeUninit<[V; PIECE]>;

/// A dense matrix of elements of one dtype, in memory that threads may share.
pub(crate) struct Matrix<V> {
    start: SharedPointer<u8>,
    cols: usize,
    /// Bytes per element.
    size: usize,
    /// Whether elements lie in memory as values.
    is_plain: bool,
    load: Load,
    store: Store,
    values: PhantomData<V>,
}

impl<V: Loaded> Matrix<V> {
    /// The matrix at an address; `None` if its elements are not computed as `V`. Nothing is read or
    /// written yet.
    pub(crate) fn new(
        start: *const u8,
        cols: usize,
        dtype: DType,
        set: InstructionSet,
    ) -> Option<Matrix<V>> {
        Some(Matrix {
            start: SharedPointer::of_const(start),
            cols,
            size: dtype.size(),
            is_plain: dtype == V::DTYPE,
            load: V::load_from(dtype, set)?,
            store: V::store_to(dtype, set)?,
            values: PhantomData,
        })
    }

    /// The number of pieces of a row.
    pub(crate) fn pieces(&self) -> usize {
        self.cols.div_ceil(Matrix::<V>::PIECE_LEN)
    }

    /// The most columns of a piece.
    pub(crate) const PIECE_LEN: usize = PIECE_BYTES / size_of::<V>();

    /// The columns of a piece.
    pub(crate) fn part(&self, piece: usize) -> Range<usize> {
        piece * Matrix::<V>::PIECE_LEN..self.cols.min((piece + 1) * Matrix::<V>::PIECE_LEN)
    }

    /// The address of an element.
    fn at(&self, row: usize, col: usize) -> *mut u8 {
        self.start.get().wrapping_add((row * self.cols + col) * self.size)
    }

    /// The address of a row that is used where it lies, as one piece. It need not exist: the address
    /// is for [`prefetch`](crate::loops::prefetch).
    pub(crate) fn address_of_short_row(&self, row: usize) -> Option<*const V> {
        let is_short = self.is_plain && self.pieces() == 1;
        is_short.then(|| self.at(row, 0).cast_const().cast())
    }

    /// The values of a part of a row, aligned: where they lie, or in `room`.
    ///
    /// # Safety
    /// The part lies within the matrix, is a piece at most, and is valid for reads; the processor
    /// has the instruction set.
    pub(crate) unsafe fn values(
        &self,
        row: usize,
        part: Range<usize>,
        room: &mut PieceRoom<V>,
    ) -> *const V {
        let from = self.at(row, part.start).cast_const();
        if self.is_plain {
            return from.cast();
        }
        let to = room.as_mut_ptr().cast::<V>();
        // SAFETY: the elements are valid (a condition of this function), and the room has a place
        // for each.
        unsafe { (self.load)(LoadArguments { from, stride: 1, len: part.len(), to: to.cast() }) };
        to
    }

    /// Lets `fill` write the values of a part of a row, and stores them.
    ///
    /// # Safety
    /// The part lies within the matrix, is a piece at most, and is valid for writes; nobody else
    /// uses it; the processor has the instruction set. `fill` writes a value for each element.
    pub(crate) unsafe fn write(&self, row: usize, part: Range<usize>, fill: impl FnOnce(*mut V)) {
        let to = self.at(row, part.start);
        if self.is_plain {
            return fill(to.cast());
        }
        let mut room = PieceRoom::<V>::uninit();
        let values = room.as_mut_ptr().cast::<V>();
        fill(values);
        // SAFETY: `fill` has written so many values; the elements are valid (conditions of this
        // function).
        unsafe { self.store.store(std::slice::from_raw_parts(values, part.len()), to, 0) };
    }
}
