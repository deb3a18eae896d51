//! The loops over a piece of a row.

use std::marker::PhantomData;

use super::RowScale;
use crate::convert::FloatValue;
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::{LoopOperand, map2, map3};
use crate::reduce::{LANES, fold_lanes, for_each_lanes};

/// A piece of a row, with the weights of its columns.
#[derive(Clone, Copy)]
pub(super) struct RowPiece<V> {
    pub(super) x: *const V,
    pub(super) weight: *const V,
    pub(super) len: usize,
    pub(super) numbers: RowScale<V>,
}

/// The normalised values, times weight, plus bias.
pub(super) struct NormalizedRow<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for NormalizedRow<V> {
    /// The results, the row, and the biases.
    type Arguments = (*mut V, RowPiece<V>, *const V);
    type Output = ();

    /// # Safety
    /// The row and the biases are valid for reads and the results for writes; these overlap none of
    /// them.
    #[inline(always)]
    unsafe fn run<I: Isa>((out, row, bias): Self::Arguments) {
        let RowScale { mean, rstd } = row.numbers;
        // SAFETY: conditions of this function.
        unsafe {
            let [x, weight, bias] = [row.x, row.weight, bias].map(LoopOperand::dense);
            map3(out, (x, weight, bias), row.len, |x, weight, bias| {
                (x - mean) * rstd * weight + bias
            });
        }
    }
}

/// The sums over a piece that the gradient of a row needs: of `g * weight`, and of that times the
/// normalised values.
pub(super) struct GradientSums<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for GradientSums<V> {
    /// The row, and the gradients of its results.
    type Arguments = (RowPiece<V>, *const V);
    type Output = [V; 2];

    /// # Safety
    /// The row and the gradients are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>((row, gradient): Self::Arguments) -> [V; 2] {
        let RowScale { mean, rstd } = row.numbers;
        let (mut sums, mut products) = ([V::ZERO; LANES], [V::ZERO; LANES]);
        let (rows, rest) = ([row.x, row.weight, gradient], [mean, V::ZERO, V::ZERO]);
        // SAFETY: conditions of this function.
        unsafe {
            for_each_lanes(rows, row.len, rest, |_, [x, weight, gradient]| {
                for lane in 0..LANES {
                    let weighted = gradient[lane] * weight[lane];
                    sums[lane] = sums[lane] + weighted;
                    products[lane] = products[lane] + weighted * ((x[lane] - mean) * rstd);
                }
            });
        }
        [sums, products].map(|lanes| fold_lanes(lanes, |a, b| a + b))
    }
}

/// The gradients of a piece of a row.
pub(super) struct GradientRow<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for GradientRow<V> {
    /// The results, the row, the gradients of its results, and the means over the row of what
    /// [`GradientSums`] adds up.
    type Arguments = (*mut V, RowPiece<V>, *const V, [V; 2]);
    type Output = ();

    /// # Safety
    /// The row and the gradients are valid for reads and the results for writes; these overlap none
    /// of them.
    #[inline(always)]
    unsafe fn run<I: Isa>((out, row, gradient, [sum, product]): Self::Arguments) {
        let RowScale { mean, rstd } = row.numbers;
        // SAFETY: conditions of this function.
        unsafe {
            let [x, weight, gradient] = [row.x, row.weight, gradient].map(LoopOperand::dense);
            map3(out, (x, weight, gradient), row.len, |x, weight, gradient| {
                (gradient * weight - sum - (x - mean) * rstd * product) * rstd
            });
        }
    }
}

/// Adds a piece's terms to the gradients of weights and biases.
pub(super) struct AddedToColumns<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for AddedToColumns<V> {
    /// The gradients of the weights and of the biases so far, the row, and the gradients of its
    /// results.
    type Arguments = ([*mut V; 2], RowPiece<V>, *const V);
    type Output = ();

    /// # Safety
    /// The row and the gradients are valid for reads, and the sums for reads and writes; these
    /// overlap nothing else.
    #[inline(always)]
    unsafe fn run<I: Isa>(([weights, biases], row, gradient): Self::Arguments) {
        let RowScale { mean, rstd } = row.numbers;
        // SAFETY: conditions of this function.
        unsafe {
            let [x, gradient, before] =
                [row.x, gradient, weights.cast_const()].map(LoopOperand::dense);
            map3(weights, (before, x, gradient), row.len, |sum, x, gradient| {
                sum + gradient * ((x - mean) * rstd)
            });
            let before = LoopOperand::dense(biases.cast_const());
            map2(biases, (before, gradient), row.len, |sum, gradient| sum + gradient);
        }
    }
}
