//! The gradients of layer normalisation.

use std::ops::Range;

use expression::DType;

use super::loops::{AddedToColumns, GradientRow, GradientSums, RowPiece};
use super::{COST, LayerNormForward, LayerNormOperands, NormRows, RowScale};
use crate::convert::FloatValue;
use crate::instruction_set::Version;
use crate::matrix::{Matrix, PieceRoom};
use crate::pool;
use crate::reduce::{ReducedInput, Reducer, ReductionKernel, pairwise};
use crate::runs::Axes;
use crate::shared_pointer::SharedPointer;

/// The gradients that are asked for, each the address of as many elements as what it is the gradient
/// of has, and of its dtype.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayerNormGradients {
    /// The gradients of the rows.
    pub x: Option<*mut u8>,
    /// The gradients of the weights.
    pub weight: Option<*mut u8>,
    /// The gradients of the biases.
    pub bias: Option<*mut u8>,
}

/// The gradients of a [`LayerNormForward`], from those of its results.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormBackward(LayerNormForward);

impl LayerNormBackward {
    /// The gradients of a kernel's operands.
    pub fn of(kernel: LayerNormForward) -> LayerNormBackward {
        LayerNormBackward(kernel)
    }

    /// Fills the gradients, in the threads of the pool if there is much to do. They do not depend on
    /// the number of threads. The biases of the operands are not read.
    ///
    /// # Safety
    /// As [`LayerNormForward::run`]; `gradient` is a dense matrix of the rows' size and dtype.
    pub unsafe fn run(
        &self,
        gradients: LayerNormGradients,
        gradient: *const u8,
        operands: LayerNormOperands,
    ) {
        // SAFETY: the conditions of this function.
        unsafe {
            match self.0.dtype {
                DType::F64 => self.run_in::<f64>(gradients, gradient, &operands),
                _ => self.run_in::<f32>(gradients, gradient, &operands),
            }
        }
    }

    /// # Safety
    /// The conditions of [`LayerNormBackward::run`].
    unsafe fn run_in<V: FloatValue>(
        &self,
        gradients: LayerNormGradients,
        gradient: *const u8,
        operands: &LayerNormOperands,
    ) {
        let (cols, set) = (operands.cols, self.0.set);
        let matrix = |start: *const u8| {
            Matrix::<V>::new(start, cols, self.0.dtype, set).expect("floats are computed as floats")
        };
        let pass = RowGradients {
            // SAFETY: a condition of this function.
            rows: unsafe { NormRows::new(&self.0, operands) },
            gradient: matrix(gradient),
            out: gradients.x.map(|start| matrix(start)),
            sums: set.version::<GradientSums<V>>(),
            finish: set.version::<GradientRow<V>>(),
            add: set.version::<AddedToColumns<V>>(),
        };
        let groups = RowGroups::of(operands.rows);
        let has_columns = gradients.weight.is_some() || gradients.bias.is_some();
        let mut columns = vec![V::ZERO; if has_columns { groups.count() * cols * 2 } else { 0 }];
        let place = SharedPointer::new(columns.as_mut_ptr());
        pool::split(groups.count(), groups.size * cols * COST, |range| {
            for group in range {
                for row in groups.rows(group) {
                    // SAFETY: a row of the gradients, and a group's place, is written by one thread;
                    // the row is one of the matrices (conditions of this function).
                    unsafe {
                        let columns = || {
                            let weights = place.get().add(group * cols * 2);
                            [weights, weights.add(cols)]
                        };
                        pass.of_row(row, has_columns.then(columns));
                    }
                }
            }
        });
        let parts = [(gradients.weight, 0), (gradients.bias, cols)];
        for (out, first) in parts.into_iter().filter_map(|(out, first)| Some((out?, first))) {
            let start = columns.get(first..).unwrap_or_default().as_ptr().cast();
            // SAFETY: each group has as many sums, and there is a place for each column.
            unsafe { self.add_up(V::DTYPE, start, [groups.count(), cols], out) };
        }
    }

    /// Adds up the sums of all groups, which lie two rows apart, for each column.
    ///
    /// # Safety
    /// `start` is valid for reads of the sums, and `out` for writes of an element of the parameters'
    /// dtype for each column, which nobody else uses.
    unsafe fn add_up(
        &self,
        dtype: DType,
        start: *const u8,
        [groups, cols]: [usize; 2],
        out: *mut u8,
    ) {
        let input = ReducedInput {
            start,
            dtype,
            kept: Axes { sizes: &[cols], strides: &[1] },
            reduced: Axes { sizes: &[groups], strides: &[2 * cols as isize] },
        };
        let kernel = ReductionKernel::in_set(Reducer::Sum, dtype, self.0.parameters, self.0.set);
        // SAFETY: conditions of this function.
        unsafe { kernel.expect("floats have sums").run(&input, out) };
    }
}

/// The groups of rows whose terms for the columns are added one after another; the sums of groups
/// are added in pairs. They depend on the number of rows alone.
struct RowGroups {
    rows: usize,
    /// The number of rows of a group.
    size: usize,
}

impl RowGroups {
    fn of(rows: usize) -> RowGroups {
        RowGroups { rows, size: (rows / 16).clamp(4, 64) }
    }

    fn count(&self) -> usize {
        self.rows.div_ceil(self.size)
    }

    fn rows(&self, group: usize) -> Range<usize> {
        group * self.size..self.rows.min((group + 1) * self.size)
    }
}

/// The work on rows in one instruction set.
struct RowGradients<'a, V: FloatValue> {
    rows: NormRows<'a, V>,
    gradient: Matrix<V>,
    out: Option<Matrix<V>>,
    sums: Version<GradientSums<V>>,
    finish: Version<GradientRow<V>>,
    add: Version<AddedToColumns<V>>,
}

impl<V: FloatValue> RowGradients<'_, V> {
    /// Writes the gradient of a row, if it is asked for, and adds the terms of its elements to
    /// `columns`.
    ///
    /// # Safety
    /// The row is one of the matrices, which are valid; nobody else uses the row of the gradient and
    /// `columns`, which have a place for each column.
    unsafe fn of_row(&self, row: usize, columns: Option<[*mut V; 2]>) {
        let pieces = self.rows.x.pieces();
        // SAFETY: conditions of this function.
        let numbers = unsafe { self.rows.scale_of(row, Some(&self.gradient)) };
        let mut sums_of = |piece: usize| {
            let sums = |row: RowPiece<V>, gradient: *const V, part: Range<usize>| {
                // SAFETY: the piece's operands are valid, and so are its columns (a condition of
                // this function).
                unsafe {
                    if let Some(columns) = columns {
                        let columns = columns.map(|start| start.add(part.start));
                        (self.add)((columns, row, gradient));
                    }
                    (self.sums)((row, gradient))
                }
            };
            // SAFETY: conditions of this function.
            unsafe { self.with_piece(row, piece, numbers, sums) }
        };
        let both = |a: [V; 2], b: [V; 2]| [a[0] + b[0], a[1] + b[1]];
        let sums = pairwise(0..pieces, &mut sums_of, &both).unwrap_or_default();
        let Some(out) = &self.out else { return };
        let means = sums.map(|sum| sum.per(self.rows.weight.len()));
        for piece in 0..pieces {
            // SAFETY: conditions of this function.
            unsafe {
                self.with_piece(row, piece, numbers, |arguments, gradient, part| {
                    out.write(row, part, |out| (self.finish)((out, arguments, gradient, means)));
                });
            }
        }
    }

    /// Calls `work` with the values of a piece of a row, the gradients of its results, and its
    /// columns.
    ///
    /// # Safety
    /// The row is one of the matrices, which are valid for reads.
    unsafe fn with_piece<R>(
        &self,
        row: usize,
        piece: usize,
        numbers: RowScale<V>,
        work: impl FnOnce(RowPiece<V>, *const V, Range<usize>) -> R,
    ) -> R {
        let part = self.rows.x.part(piece);
        let (mut room, mut room_of_gradient) = (PieceRoom::uninit(), PieceRoom::uninit());
        // SAFETY: the part lies within the matrices (a condition of this function).
        let (x, gradient) = unsafe {
            (
                self.rows.x.values(row, part.clone(), &mut room),
                self.gradient.values(row, part.clone(), &mut room_of_gradient),
            )
        };
        let weight = self.rows.weight[part.clone()].as_ptr();
        work(RowPiece { x, weight, len: part.len(), numbers }, gradient, part)
    }
}
