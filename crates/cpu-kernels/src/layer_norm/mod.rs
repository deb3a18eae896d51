//! Layer normalisation: rows that are brought to mean 0 and variance 1, times a weight and plus a
//! bias for each column; and its gradients.
//!
//! A row is worked on in pieces that stay in the cache of first level. Means and variances are
//! computed in a first pass over it, and computed again for the gradients, so that nothing needs to
//! be kept for them.

mod backward;
mod loops;

use std::borrow::Cow;

use expression::DType;

pub use self::backward::{LayerNormBackward, LayerNormGradients};
use self::loops::{NormalizedRow, RowPiece};
use crate::convert::{FloatValue, LoadArguments};
use crate::instruction_set::{InstructionSet, Version};
use crate::matrix::{Matrix, PieceRoom};
use crate::pool;
use crate::reduce::{BlockMoments, DenseValues, MomentsOfValues, pairwise};

/// The layer normalisation of rows of one floating-point dtype. Halves are computed in `f32`.
///
/// ```
/// use cpu_kernels::layer_norm::{LayerNormForward, LayerNormOperands};
/// use expression::DType;
///
/// let (x, mut y) = ([1.0f32, 3.0], [0.0f32; 2]);
/// let (x, out) = (x.as_ptr().cast(), y.as_mut_ptr().cast());
/// let operands =
///     LayerNormOperands { x, weight: None, bias: None, rows: 1, cols: 2, epsilon: 0.0 };
/// let kernel = LayerNormForward::new(DType::F32, DType::F32).expect("they are floats");
/// // SAFETY: both arrays are a row of two elements.
/// unsafe { kernel.run(out, operands) };
/// assert_eq!(y, [-1.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LayerNormForward {
    dtype: DType,
    parameters: DType,
    set: InstructionSet,
}

/// The operands of a layer normalisation.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormOperands {
    /// The rows: a dense matrix.
    pub x: *const u8,
    /// The factor of each column; 1 if there is none.
    pub weight: Option<*const u8>,
    /// The summand of each column; 0 if there is none.
    pub bias: Option<*const u8>,
    /// The number of rows.
    pub rows: usize,
    /// The number of elements of a row.
    pub cols: usize,
    /// The number that is added to variances before their roots are taken.
    pub epsilon: f64,
}

impl LayerNormForward {
    /// The kernel for rows of one dtype and parameters of another, in the current instruction set.
    /// `None` if they are no floats, or the parameters are computed in another type than the rows.
    pub fn new(dtype: DType, parameters: DType) -> Option<LayerNormForward> {
        LayerNormForward::in_set(dtype, parameters, InstructionSet::current())
    }

    /// [`LayerNormForward::new`] in a set that the processor has.
    pub fn in_set(
        dtype: DType,
        parameters: DType,
        set: InstructionSet,
    ) -> Option<LayerNormForward> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let fits = dtype.is_float() && parameters.is_float();
        let fits = fits && dtype.compute_type() == parameters.compute_type();
        fits.then_some(LayerNormForward { dtype, parameters, set })
    }

    /// Fills the result, a dense matrix of the rows' size and dtype, in the threads of the pool if
    /// it is large. A row's result does not depend on the other rows nor on the number of threads.
    ///
    /// # Safety
    /// The operands are valid for reads and `out` for writes of the elements that they say they
    /// have, of the kernel's dtypes; nobody else writes the operands or uses `out`, which overlaps
    /// none of them.
    pub unsafe fn run(&self, out: *mut u8, operands: LayerNormOperands) {
        if operands.rows == 0 || operands.cols == 0 {
            return;
        }
        // SAFETY: the dtypes' elements are converted to the type that is computed in; the addresses
        // are valid (conditions of this function).
        unsafe {
            match self.dtype {
                DType::F64 => self.run_in::<f64>(out, &operands),
                _ => self.run_in::<f32>(out, &operands),
            }
        }
    }

    /// # Safety
    /// The conditions of [`LayerNormForward::run`].
    unsafe fn run_in<V: FloatValue>(&self, out: *mut u8, operands: &LayerNormOperands) {
        let out = Matrix::<V>::new(out, operands.cols, self.dtype, self.set);
        let out = out.expect("floats are computed as floats");
        // SAFETY: the conditions of this function.
        let (bias, rows) = unsafe {
            (
                self.column_values::<V>(operands.bias, V::ZERO, operands.cols),
                NormRows::new(self, operands),
            )
        };
        let normalize = self.set.version::<NormalizedRow<V>>();
        // SAFETY: the part lies within all matrices, which are valid (conditions of this function),
        // and is written by one thread.
        let finish = |row: usize, piece: usize, numbers: RowScale<V>| unsafe {
            let (part, mut room) = (rows.x.part(piece), PieceRoom::uninit());
            let x = rows.x.values(row, part.clone(), &mut room);
            let weight = rows.weight[part.clone()].as_ptr();
            let bias = bias[part.clone()].as_ptr();
            let len = part.len();
            out.write(row, part, |out| {
                normalize((out, RowPiece { x, weight, len, numbers }, bias))
            });
        };
        let pieces = rows.x.pieces();
        if pieces > 1 && operands.rows < pool::threads() {
            for row in 0..operands.rows {
                // SAFETY: the conditions of this function.
                let moments = pool::map(pieces, |piece| unsafe { rows.moments(row, piece, None) });
                let numbers = rows.scale(row_moments(&moments));
                pool::split(pieces, Matrix::<V>::PIECE_LEN * COST, |range| {
                    range.for_each(|piece| finish(row, piece, numbers));
                });
            }
            return;
        }
        pool::split(operands.rows, operands.cols * COST, |range| {
            for row in range {
                // SAFETY: the conditions of this function.
                let numbers = unsafe { rows.scale_of(row, None) };
                (0..pieces).for_each(|piece| finish(row, piece, numbers));
            }
        });
    }

    /// A value for each column: those at an address, where they lie or converted, or `default`.
    ///
    /// # Safety
    /// The address is valid for reads of an element of the parameters' dtype for each column, for as
    /// long as the result is used.
    unsafe fn column_values<'a, V: FloatValue>(
        &self,
        start: Option<*const u8>,
        default: V,
        cols: usize,
    ) -> Cow<'a, [V]> {
        let Some(from) = start else { return Cow::Owned(vec![default; cols]) };
        if self.parameters == V::DTYPE {
            // SAFETY: a condition of this function; elements of tensors are aligned.
            return Cow::Borrowed(unsafe { std::slice::from_raw_parts(from.cast(), cols) });
        }
        let load = V::load_from(self.parameters, self.set).expect("floats are computed as floats");
        let mut values = vec![V::ZERO; cols];
        let to = values.as_mut_ptr().cast();
        // SAFETY: a condition of this function, and there is a place for each value.
        unsafe { load(LoadArguments { from, stride: 1, len: cols, to }) };
        Cow::Owned(values)
    }
}

/// Bytes that could be moved in the time that an element takes.
const COST: usize = 16;

/// The numbers that a row is normalised with: its mean, and the inverse of its deviation.
#[derive(Clone, Copy)]
struct RowScale<V> {
    mean: V,
    rstd: V,
}

/// The rows, and how they are normalised.
struct NormRows<'a, V: FloatValue> {
    x: Matrix<V>,
    weight: Cow<'a, [V]>,
    epsilon: f64,
    moments: Version<MomentsOfValues<V>>,
}

impl<'a, V: FloatValue> NormRows<'a, V> {
    /// # Safety
    /// The conditions of [`LayerNormForward::run`] for the operands.
    unsafe fn new(kernel: &LayerNormForward, operands: &LayerNormOperands) -> NormRows<'a, V> {
        let x = Matrix::new(operands.x, operands.cols, kernel.dtype, kernel.set);
        // SAFETY: a condition of this function.
        let weight = unsafe { kernel.column_values(operands.weight, V::ONE, operands.cols) };
        NormRows {
            x: x.expect("floats are computed as floats"),
            weight,
            epsilon: operands.epsilon,
            moments: kernel.set.version::<MomentsOfValues<V>>(),
        }
    }

    /// The moments of a piece of a row. The same row of `next` is read afterwards, and then the next
    /// row. Memory that is written next is not asked for: the row would wait behind it.
    ///
    /// # Safety
    /// The row is one of the matrix, whose elements are valid for reads.
    unsafe fn moments(
        &self,
        row: usize,
        piece: usize,
        next: Option<&Matrix<V>>,
    ) -> BlockMoments<V> {
        let (part, mut room) = (self.x.part(piece), PieceRoom::uninit());
        let count = part.len();
        // SAFETY: a condition of this function.
        let start = unsafe { self.x.values(row, part, &mut room) };
        let next = next.and_then(|next| next.address_of_short_row(row));
        let ahead = [next, self.x.address_of_short_row(row + 1)];
        let ahead = ahead.map(|address| address.unwrap_or(start));
        // SAFETY: the values are valid, and the processor has the instruction set.
        unsafe { (self.moments)(DenseValues { start, count, ahead }) }
    }

    /// The numbers of a row.
    ///
    /// # Safety
    /// As [`NormRows::moments`].
    unsafe fn scale_of(&self, row: usize, next: Option<&Matrix<V>>) -> RowScale<V> {
        // SAFETY: a condition of this function.
        let mut moments = |piece: usize| unsafe { self.moments(row, piece, next) };
        let whole = pairwise(0..self.x.pieces(), &mut moments, &BlockMoments::combine);
        self.scale(whole.unwrap_or_default())
    }

    fn scale(&self, moments: BlockMoments<V>) -> RowScale<V> {
        let variance = moments.squares.per(moments.count);
        let rstd = V::ONE / (variance + V::converted_from(self.epsilon)).sqrt();
        RowScale { mean: moments.mean, rstd }
    }
}

/// The moments of a row from those of its pieces.
fn row_moments<V: FloatValue>(pieces: &[BlockMoments<V>]) -> BlockMoments<V> {
    let of_piece = &mut |piece: usize| pieces[piece];
    pairwise(0..pieces.len(), of_piece, &BlockMoments::combine).unwrap_or_default()
}
