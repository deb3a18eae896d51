//! Means and squared distances from them, of parts that are combined.
//!
//! The mean of a part is found first, and the squared distances from it in a second pass over the
//! part in the cache; parts are combined by the formulas of T. Chan, G. Golub and R. LeVeque
//! ("Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979). The second
//! pass adds up the distances too. Without rounding their sum would be zero; what it is instead
//! corrects the mean and the squares (the "corrected two-pass algorithm" of the same authors).

use std::marker::PhantomData;

use super::fold::{LANES, fold_lanes};
use crate::convert::FloatValue;
use crate::instruction_set::{Isa, Multiversioned};

/// The number of some values, their mean, and the sum of their squared distances from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments<V> {
    pub(crate) count: usize,
    pub(crate) mean: V,
    pub(crate) squares: V,
}

impl<V: FloatValue> Moments<V> {
    /// The moments of two parts together.
    pub(crate) fn combine(a: Moments<V>, b: Moments<V>) -> Moments<V> {
        let count = a.count + b.count;
        if b.count == 0 || a.count == 0 {
            return if b.count == 0 { a } else { b };
        }
        let distance = b.mean - a.mean;
        let share = V::converted_from(b.count as f64 / count as f64);
        let first = V::converted_from(a.count as f64);
        Moments {
            count,
            mean: a.mean + distance * share,
            squares: a.squares + b.squares + distance * distance * first * share,
        }
    }
}

/// The moments of dense values.
pub(crate) struct MomentsOfValues<V>(PhantomData<V>);

impl<V: FloatValue> Multiversioned for MomentsOfValues<V> {
    /// The values, aligned, and their number.
    type Arguments = (*const V, usize);
    type Output = Moments<V>;

    /// # Safety
    /// The values are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>((start, count): Self::Arguments) -> Moments<V> {
        if count == 0 {
            return Moments::default();
        }
        // SAFETY: a condition of this function.
        let values = unsafe { std::slice::from_raw_parts(start, count) };
        let mut sums = [V::ZERO; LANES];
        let mut whole = values.chunks_exact(LANES);
        for values in whole.by_ref() {
            for lane in 0..LANES {
                sums[lane] = sums[lane] + values[lane];
            }
        }
        for (sum, &value) in sums.iter_mut().zip(whole.remainder()) {
            *sum = *sum + value;
        }
        let mean = fold_lanes(sums, |a, b| a + b).per(count);

        let (mut distances, mut squares) = ([V::ZERO; LANES], [V::ZERO; LANES]);
        let mut whole = values.chunks_exact(LANES);
        for values in whole.by_ref() {
            for lane in 0..LANES {
                let distance = values[lane] - mean;
                distances[lane] = distances[lane] + distance;
                squares[lane] = squares[lane] + distance * distance;
            }
        }
        for (lane, &value) in whole.remainder().iter().enumerate() {
            let distance = value - mean;
            distances[lane] = distances[lane] + distance;
            squares[lane] = squares[lane] + distance * distance;
        }
        let missed = fold_lanes(distances, |a, b| a + b);
        let squares = fold_lanes(squares, |a, b| a + b);
        let corrected = mean + missed.per(count);
        // An infinite value has an infinite mean, from which the distance of infinity is NaN.
        let mean = if corrected.is_unordered() { mean } else { corrected };
        Moments { count, mean, squares: squares - missed * missed.per(count) }
    }
}
