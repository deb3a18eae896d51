//! Means and squared distances from them, of parts that are combined.
//!
//! The mean of a part is found first, and the squared distances from it in a second pass over the
//! part in the cache; parts are combined by the formulas of T. Chan, G. Golub and R. LeVeque
//! ("Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979). The second
//! pass adds up the distances too. Without rounding their sum would be zero; what it is instead
//! corrects the mean and the squares (the "corrected two-pass algorithm" of the same authors).

use std::marker::PhantomData;

use super::fold::{LANES, fold_lanes, for_each_lanes};
use crate::convert::FloatValue;
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::prefetch_to_l2;

/// The number of some values, their mean, and the sum of their squared distances from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockMoments<V> {
    pub(crate) count: usize,
    pub(crate) mean: V,
    pub(crate) squares: V,
}

impl<V: FloatValue> BlockMoments<V> {
    /// The moments of two parts together.
    pub(crate) fn combine(a: BlockMoments<V>, b: BlockMoments<V>) -> BlockMoments<V> {
        let count = a.count + b.count;
        if b.count == 0 || a.count == 0 {
            return if b.count == 0 { a } else { b };
        }
        let distance = b.mean - a.mean;
        let share = V::converted_from(b.count as f64 / count as f64);
        let first = V::converted_from(a.count as f64);
        BlockMoments {
            count,
            mean: a.mean + distance * share,
            squares: a.squares + b.squares + distance * distance * first * share,
        }
    }
}

/// Dense values.
#[derive(Clone, Copy)]
pub(crate) struct DenseValues<V> {
    /// The address of the first one, aligned.
    pub(crate) start: *const V,
    pub(crate) count: usize,
    /// Memory that is used next, as long as the values: it is asked for meanwhile, so that nobody
    /// waits for it then. It may lie anywhere.
    pub(crate) ahead: [*const V; 2],
}

impl<V> DenseValues<V> {
    /// Values after which nothing is used that is not at hand.
    pub(crate) fn new(start: *const V, count: usize) -> DenseValues<V> {
        DenseValues { start, count, ahead: [start; 2] }
    }
}

/// The moments of dense values.
pub(crate) struct MomentsOfValues<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for MomentsOfValues<V> {
    type Arguments = DenseValues<V>;
    type Output = BlockMoments<V>;

    /// # Safety
    /// The values are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>(DenseValues { start, count, ahead }: DenseValues<V>) -> BlockMoments<V> {
        if count == 0 {
            return BlockMoments::default();
        }
        let prefetch_at = |start: *const V, at: usize| {
            prefetch_to_l2(start.wrapping_add(at).cast(), LANES * size_of::<V>());
        };
        let mut sums = [V::ZERO; LANES];
        // SAFETY: a condition of this function.
        unsafe {
            for_each_lanes([start], count, [V::ZERO], |at, [values]| {
                prefetch_at(ahead[0], at);
                for lane in 0..LANES {
                    sums[lane] = sums[lane] + values[lane];
                }
            });
        }
        let mean = fold_lanes(sums, |a, b| a + b).per(count);

        let (mut distances, mut squares) = ([V::ZERO; LANES], [V::ZERO; LANES]);
        // SAFETY: a condition of this function.
        unsafe {
            // What stands after the last value has no distance.
            for_each_lanes([start], count, [mean], |at, [values]| {
                prefetch_at(ahead[1], at);
                for lane in 0..LANES {
                    let distance = values[lane] - mean;
                    distances[lane] = distances[lane] + distance;
                    squares[lane] = squares[lane] + distance * distance;
                }
            });
        }
        let missed = fold_lanes(distances, |a, b| a + b);
        let squares = fold_lanes(squares, |a, b| a + b);
        let corrected = mean + missed.per(count);
        // An infinite value has an infinite mean, from which the distance of infinity is NaN.
        let mean = if corrected.is_unordered() { mean } else { corrected };
        BlockMoments { count, mean, squares: squares - missed * missed.per(count) }
    }
}
