//! Softmax, log-softmax and their backward functions, row by row.
//!
//! A row is worked on in pieces that stay in the cache of first level. The largest element and the
//! sum of exponentials of pieces are combined pairwise, so that a row gives the same in one thread
//! and in several.

mod maps;

use std::ops::Range;

use expression::DType;

pub(crate) use self::maps::SoftmaxFloat;
use self::maps::{
    ExponentialShare, Exponentials, LargestOfValues, LogShare, LogSoftmaxGradient, MapArguments,
    MapRow, Product, RowMap, Share, SoftmaxGradient,
};
use crate::instruction_set::{Baseline, InstructionSet, Version};
use crate::matrix::{Matrix, PieceRoom};
use crate::pool;
use crate::reduce::{Added, DenseRows, DenseValues, FoldRows, pairwise};

/// A function of whole rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowFunction {
    /// `exp(x)` divided by its sum over the row.
    Softmax,
    /// The logarithm of [`RowFunction::Softmax`].
    LogSoftmax,
    /// The gradient of softmax from the gradient g of its result y: `y * (g - sum(g * y))`.
    SoftmaxBackward,
    /// The gradient of log-softmax from the gradient g of its result y: `g - exp(y) * sum(g)`.
    LogSoftmaxBackward,
}

/// The operands of a function of rows: dense matrices of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct RowOperands {
    /// The result.
    pub out: *mut u8,
    /// The operand, or for backward functions the gradient of the result.
    pub a: *const u8,
    /// For backward functions the result; for others it is not read.
    pub b: *const u8,
    /// The number of rows.
    pub rows: usize,
    /// The number of elements of a row.
    pub cols: usize,
}

/// A function of rows for one floating-point dtype. Halves are computed in `f32`.
///
/// ```
/// use cpu_kernels::softmax::{RowFunction, RowKernel, RowOperands};
/// use expression::DType;
///
/// let (x, mut y) = ([0.0f32, 0.0], [0.0f32; 2]);
/// let kernel = RowKernel::new(RowFunction::Softmax, DType::F32).expect("it is a float");
/// let a = x.as_ptr().cast();
/// let operands = RowOperands { out: y.as_mut_ptr().cast(), a, b: a, rows: 1, cols: 2 };
/// // SAFETY: both arrays are a row of two elements.
/// unsafe { kernel.run(operands) };
/// assert_eq!(y, [0.5, 0.5]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowKernel {
    function: RowFunction,
    dtype: DType,
    set: InstructionSet,
}

impl RowKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for integers.
    pub fn new(function: RowFunction, dtype: DType) -> Option<RowKernel> {
        RowKernel::in_set(function, dtype, InstructionSet::current())
    }

    /// [`RowKernel::new`] in a set that the processor has.
    pub fn in_set(function: RowFunction, dtype: DType, set: InstructionSet) -> Option<RowKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        dtype.is_float().then_some(RowKernel { function, dtype, set })
    }

    /// Fills the result, in the threads of the pool if it is large.
    ///
    /// # Safety
    /// The operands are valid for reads and `out` for writes of `rows * cols` elements of the
    /// dtype; nobody else writes the operands or uses `out`, which overlaps no operand.
    pub unsafe fn run(&self, operands: RowOperands) {
        if operands.rows == 0 || operands.cols == 0 {
            return;
        }
        // SAFETY: the dtype's elements are converted to the type that is computed in; the addresses
        // are valid (conditions of this function).
        unsafe {
            match self.dtype {
                DType::F64 => RowPasses::<f64>::new(self, operands).run(self.function),
                _ => RowPasses::<f32>::new(self, operands).run(self.function),
            }
        }
    }
}

/// Bytes that could be moved in the time that an element takes.
const COST: usize = 24;

/// The work on rows in one instruction set.
struct RowPasses<V: SoftmaxFloat> {
    out: Matrix<V>,
    a: Matrix<V>,
    b: Matrix<V>,
    rows: usize,
    cols: usize,
    set: InstructionSet,
    largest: Version<LargestOfValues<V>>,
    exponentials: Version<Exponentials<V>>,
    sum: Version<FoldRows<Added<V>>>,
}

/// Two numbers that a row's result follows from: the largest element, and the sum of exponentials (in
/// the end its inverse or its logarithm), or a sum alone.
type RowNumbers<V> = [V; 2];

impl<V: SoftmaxFloat> RowPasses<V> {
    fn new(kernel: &RowKernel, operands: RowOperands) -> RowPasses<V> {
        let (dtype, set) = (kernel.dtype, kernel.set);
        let matrix = |start: *const u8| {
            Matrix::new(start, operands.cols, dtype, set).expect("floats are computed as floats")
        };
        RowPasses {
            out: matrix(operands.out),
            a: matrix(operands.a),
            b: matrix(operands.b),
            rows: operands.rows,
            cols: operands.cols,
            set,
            largest: set.version::<LargestOfValues<V>>(),
            exponentials: set.version::<Exponentials<V>>(),
            sum: set.version::<FoldRows<Added<V>>>(),
        }
    }

    /// # Safety
    /// The conditions of [`RowKernel::run`].
    unsafe fn run(&self, function: RowFunction) {
        let pieces = self.out.pieces();
        let is_split = pieces > 1 && self.rows < pool::threads();
        if is_split {
            for row in 0..self.rows {
                // SAFETY: the conditions of this function; a piece is written by one thread.
                unsafe {
                    let part = |piece: usize| self.numbers_of(function, row, self.out.part(piece));
                    let parts = pool::map(pieces, part);
                    let numbers = self.combined(function, &parts);
                    pool::split(pieces, Matrix::<V>::PIECE_LEN * COST, |range| {
                        for piece in range {
                            self.finish(function, row, self.out.part(piece), numbers);
                        }
                    });
                }
            }
            return;
        }
        pool::split(self.rows, self.cols * COST, |range| {
            let mut parts = Vec::new();
            for row in range {
                // SAFETY: the conditions of this function; a row is written by one thread.
                unsafe {
                    if pieces == 1 && function == RowFunction::Softmax {
                        self.softmax_of_short_row(row);
                        continue;
                    }
                    parts.clear();
                    let part = |piece: usize| self.numbers_of(function, row, self.out.part(piece));
                    parts.extend((0..pieces).map(part));
                    let numbers = self.combined(function, &parts);
                    for piece in 0..pieces {
                        self.finish(function, row, self.out.part(piece), numbers);
                    }
                }
            }
        });
    }

    /// Softmax of a row of a single piece, whose exponentials are computed once.
    ///
    /// # Safety
    /// The conditions of [`RowKernel::run`].
    unsafe fn softmax_of_short_row(&self, row: usize) {
        let (mut x, mut e) = (PieceRoom::<V>::uninit(), PieceRoom::<V>::uninit());
        let part = 0..self.cols;
        // SAFETY: the row's elements are valid (a condition of this function), and the rooms are
        // large enough for a piece.
        unsafe {
            let start = self.a.values(row, part.clone(), &mut x);
            let next = [self.out.address_of_short_row(row), self.a.address_of_short_row(row + 1)];
            let ahead = next.map(|address| address.unwrap_or(start));
            let e = e.as_mut_ptr().cast::<V>();
            let values = DenseValues { start, count: part.len(), ahead };
            let sum = (self.exponentials)((e, values, (self.largest)(values)));
            self.map_to_row::<Share>(row, part, [e, e], [V::ONE / sum; 2]);
        }
    }

    /// The numbers of a part of a row.
    ///
    /// # Safety
    /// The conditions of [`RowKernel::run`].
    unsafe fn numbers_of(
        &self,
        function: RowFunction,
        row: usize,
        part: Range<usize>,
    ) -> RowNumbers<V> {
        let [mut room_a, mut room_b, mut terms] = [const { PieceRoom::<V>::uninit() }; 3];
        let (len, terms) = (part.len(), terms.as_mut_ptr().cast::<V>());
        // SAFETY: the part's elements are valid (a condition of this function), and the rooms are
        // large enough for a piece.
        unsafe {
            let a = self.a.values(row, part.clone(), &mut room_a);
            match function {
                RowFunction::Softmax | RowFunction::LogSoftmax => {
                    let values = DenseValues::new(a, len);
                    let largest = (self.largest)(values);
                    [largest, (self.exponentials)((terms, values, largest))]
                }
                RowFunction::SoftmaxBackward => {
                    let b = self.b.values(row, part, &mut room_b);
                    self.map::<Product>(terms, [a, b], len, [V::ZERO; 2]);
                    [self.sum_of(terms, len); 2]
                }
                RowFunction::LogSoftmaxBackward => [self.sum_of(a, len); 2],
            }
        }
    }

    /// The numbers of a row from those of its parts.
    fn combined(&self, function: RowFunction, parts: &[RowNumbers<V>]) -> RowNumbers<V> {
        let of_exponentials = |a: RowNumbers<V>, b: RowNumbers<V>| {
            let largest = a[0].larger(b[0]);
            // A part without any finite element has exponentials of NaN already.
            let scaled = |part: RowNumbers<V>| match part[0] == largest {
                true => part[1],
                false if part[0] == V::LEAST => V::ZERO,
                false => part[1] * (part[0] - largest).exp::<Baseline>(),
            };
            [largest, scaled(a).plus(scaled(b))]
        };
        let is_forward = matches!(function, RowFunction::Softmax | RowFunction::LogSoftmax);
        let sums = |a: RowNumbers<V>, b: RowNumbers<V>| [a[0].plus(b[0]); 2];
        let numbers = if is_forward {
            pairwise(0..parts.len(), &mut |part| parts[part], &of_exponentials)
        } else {
            pairwise(0..parts.len(), &mut |part| parts[part], &sums)
        };
        let [first, second] = numbers.expect("a row has parts");
        match function {
            RowFunction::Softmax => [first, V::ONE / second],
            RowFunction::LogSoftmax => [first, second.ln::<Baseline>()],
            RowFunction::SoftmaxBackward | RowFunction::LogSoftmaxBackward => [first, second],
        }
    }

    /// Writes a part of a row's result.
    ///
    /// # Safety
    /// The conditions of [`RowKernel::run`]; nobody else uses this part of the result.
    unsafe fn finish(
        &self,
        function: RowFunction,
        row: usize,
        part: Range<usize>,
        numbers: RowNumbers<V>,
    ) {
        let [mut room_a, mut room_b] = [const { PieceRoom::<V>::uninit() }; 2];
        // SAFETY: the part's elements are valid (a condition of this function), and the rooms are
        // large enough for a piece.
        unsafe {
            let a = self.a.values(row, part.clone(), &mut room_a);
            let mut b = || self.b.values(row, part.clone(), &mut room_b);
            match function {
                RowFunction::Softmax => {
                    self.map_to_row::<ExponentialShare>(row, part, [a, a], numbers);
                }
                RowFunction::LogSoftmax => {
                    self.map_to_row::<LogShare>(row, part, [a, a], numbers);
                }
                RowFunction::SoftmaxBackward => {
                    let b = b();
                    self.map_to_row::<SoftmaxGradient>(row, part, [a, b], numbers);
                }
                RowFunction::LogSoftmaxBackward => {
                    let b = b();
                    self.map_to_row::<LogSoftmaxGradient>(row, part, [a, b], numbers);
                }
            }
        }
    }

    /// # Safety
    /// `start` is valid for reads of `len` elements.
    unsafe fn sum_of(&self, start: *const V, len: usize) -> V {
        let mut result = V::ZERO;
        // SAFETY: the elements are valid (a condition of this function), the result is borrowed, and
        // the version is of a set that the processor has.
        unsafe { (self.sum)(DenseRows { start, stride: 0, len, rows: 1, results: &mut result }) };
        result
    }

    /// # Safety
    /// The conditions of [`MapRow`].
    unsafe fn map<M: RowMap<V>>(
        &self,
        out: *mut V,
        [a, b]: [*const V; 2],
        len: usize,
        numbers: RowNumbers<V>,
    ) {
        // SAFETY: they are this function's, too; the processor has the instruction set.
        unsafe { self.set.version::<MapRow<M, V>>()(MapArguments { out, a, b, len, numbers }) }
    }

    /// Maps values into a part of a row of the result.
    ///
    /// # Safety
    /// The operands are valid for as many reads, and nobody else uses this part of the result.
    unsafe fn map_to_row<M: RowMap<V>>(
        &self,
        row: usize,
        part: Range<usize>,
        operands: [*const V; 2],
        numbers: RowNumbers<V>,
    ) {
        let len = part.len();
        // SAFETY: the part lies within the result, and the map writes each of its values.
        unsafe {
            self.out.write(row, part, |out| self.map::<M>(out, operands, len, numbers));
        }
    }
}
