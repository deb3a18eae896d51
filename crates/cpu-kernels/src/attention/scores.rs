//! The loops over a block of scores, a row for each key and `W` columns for as many queries.

use std::marker::PhantomData;

use super::AttentionFloat;
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::long_map1;
use crate::random::{Philox, is_chosen};

/// The mask of a block, which lies as its scores do.
#[derive(Clone, Copy)]
pub(super) enum BlockMask<V> {
    None,
    Truth(*const u8),
    Added(*const V),
}

/// The dropout of a block. Its first key is a multiple of [`DROPPED`].
#[derive(Clone, Copy)]
pub(super) struct BlockDropout {
    pub(super) philox: Philox,
    pub(super) keep: f64,
    /// The number of the random block of the first column's first keys, and the distance to that of
    /// the next column.
    pub(super) first: u64,
    pub(super) step: u64,
}

/// The keys whose random words are drawn together.
pub(super) const DROPPED: usize = 4;

/// A block of products of keys and queries.
#[derive(Clone, Copy)]
pub(super) struct ScoresBlock<V> {
    pub(super) scores: *mut V,
    /// The number of keys.
    pub(super) rows: usize,
    pub(super) scale: V,
    pub(super) mask: BlockMask<V>,
    /// The number of the first key less that of the first query, if no query sees a later key.
    pub(super) ahead: Option<isize>,
    pub(super) dropout: Option<BlockDropout>,
}

impl<V: AttentionFloat> ScoresBlock<V> {
    /// The scores of a key.
    ///
    /// # Safety
    /// There is such a row, and it and its mask are valid for reads.
    #[inline(always)]
    unsafe fn row<const W: usize>(&self, row: usize) -> [V; W] {
        // SAFETY: a condition of this function.
        let mut scores = unsafe { self.at::<W>(self.scores, row).read() };
        for score in &mut scores {
            *score = score.times(self.scale);
        }
        match self.mask {
            BlockMask::None => {}
            BlockMask::Truth(start) => {
                // SAFETY: the mask has as many rows.
                let seen = unsafe { start.add(row * W).cast::<[u8; W]>().read() };
                for (score, seen) in scores.iter_mut().zip(seen) {
                    *score = if seen != 0 { *score } else { V::LEAST };
                }
            }
            BlockMask::Added(start) => {
                // SAFETY: the mask has as many rows.
                let added = unsafe { start.add(row * W).cast::<[V; W]>().read() };
                for (score, added) in scores.iter_mut().zip(added) {
                    *score = score.plus(added);
                }
            }
        }
        if let Some(ahead) = self.ahead {
            let first = (row as isize + ahead).clamp(0, W as isize) as i32;
            for (column, score) in scores.iter_mut().enumerate() {
                *score = if column as i32 >= first { *score } else { V::LEAST };
            }
        }
        scores
    }

    /// The place of a row in an array that lies as the scores do.
    #[inline(always)]
    fn at<const W: usize>(&self, start: *mut V, row: usize) -> *mut [V; W] {
        start.wrapping_add(row * W).cast()
    }

    /// The factors of dropout of the keys from `row` on.
    #[expect(clippy::needless_range_loop, reason = "a column is one of four arrays")]
    #[inline(always)]
    fn factors<const W: usize>(dropout: &BlockDropout, row: usize) -> [[V; W]; DROPPED] {
        let kept = V::converted_from(1.0 / dropout.keep);
        let mut factors = [[V::ZERO; W]; DROPPED];
        for column in 0..W {
            let block = dropout.first + column as u64 * dropout.step + (row / DROPPED) as u64;
            let words = dropout.philox.words(block);
            for (key, word) in words.into_iter().enumerate() {
                let stays = is_chosen(word, dropout.keep);
                factors[key][column] = if stays { kept } else { V::ZERO };
            }
        }
        factors
    }
}

/// The largest score of each query so far, and the sum of the exponentials of the scores less that.
#[derive(Clone, Copy)]
pub(super) struct RunningSums<V, const W: usize> {
    pub(super) largest: [V; W],
    pub(super) sum: [V; W],
}

impl<V: AttentionFloat, const W: usize> RunningSums<V, W> {
    pub(super) const NONE: RunningSums<V, W> =
        RunningSums { largest: [V::LEAST; W], sum: [V::ZERO; W] };
}

/// Turns a block of products into the exponentials of its scores, less what is dropped, adds it to the
/// sums, and gives the factors of what was computed with the earlier largest scores.
pub(super) struct OnlineSoftmax<V, const W: usize>(PhantomData<V>);

impl<V: AttentionFloat, const W: usize> Multiversioned for OnlineSoftmax<V, W> {
    type Arguments = (ScoresBlock<V>, *mut RunningSums<V, W>);
    type Output = [V; W];

    /// # Safety
    /// The scores are valid for reads and writes, their mask for reads, and the sums for both.
    #[inline(always)]
    unsafe fn run<I: Isa>((block, sums): Self::Arguments) -> [V; W] {
        // SAFETY: a condition of this function.
        let RunningSums { largest: before, sum } = unsafe { sums.read() };
        let mut largest = before;
        for row in 0..block.rows {
            // SAFETY: the row is one of the block's.
            let scores = unsafe { block.row::<W>(row) };
            for (largest, &score) in largest.iter_mut().zip(&scores) {
                // NaN is no largest one, and comes through by its exponential.
                *largest = if score > *largest { score } else { *largest };
            }
            // SAFETY: the row, which is one of the block's, is valid for writes, too.
            unsafe { block.at::<W>(block.scores, row).write(scores) };
        }
        // A query that sees no key yet has nothing but exponentials of negative infinity.
        let base = largest.map(|x| if x == V::LEAST { V::ZERO } else { x });
        let mut factors = [V::ZERO; W];
        let mut total = [V::ZERO; W];
        for column in 0..W {
            factors[column] = (before[column] - base[column]).exp::<I>();
            total[column] = sum[column].times(factors[column]);
        }
        for first in (0..block.rows).step_by(DROPPED) {
            let dropped =
                block.dropout.map(|dropout| ScoresBlock::<V>::factors::<W>(&dropout, first));
            for (key, row) in (first..block.rows.min(first + DROPPED)).enumerate() {
                // SAFETY: the row is one of the block's.
                let mut shares = unsafe { block.at::<W>(block.scores, row).read() };
                for column in 0..W {
                    shares[column] = (shares[column] - base[column]).exp::<I>();
                    total[column] = total[column].plus(shares[column]);
                }
                if let Some(dropped) = &dropped {
                    for (share, &factor) in shares.iter_mut().zip(&dropped[key]) {
                        *share = share.times(factor);
                    }
                }
                // SAFETY: the row, which is one of the block's, is valid for writes, too.
                unsafe { block.at::<W>(block.scores, row).write(shares) };
            }
        }
        // SAFETY: a condition of this function.
        unsafe { sums.write(RunningSums { largest, sum: total }) };
        factors
    }
}

/// Operands of the gradients of a block of scores: the products of values and the results'
/// gradients, and for each query the logarithm of its sum and the product of its result and
/// that one's gradient.
pub(super) struct BlockSlopes<V, const W: usize> {
    pub(super) slopes: *mut V,
    pub(super) log_sum: [V; W],
    pub(super) delta: [V; W],
}

/// Turns a block of products into the shares of its values, less what is dropped, and the slopes into
/// the gradients of the products.
pub(super) struct Slopes<V, const W: usize>(PhantomData<V>);

impl<V: AttentionFloat, const W: usize> Multiversioned for Slopes<V, W> {
    type Arguments = (ScoresBlock<V>, BlockSlopes<V, W>);
    type Output = ();

    /// # Safety
    /// Scores and slopes are valid for reads and writes, and the mask for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>((block, with): Self::Arguments) {
        let BlockSlopes { slopes, log_sum, delta } = with;
        for first in (0..block.rows).step_by(DROPPED) {
            let dropped =
                block.dropout.map(|dropout| ScoresBlock::<V>::factors::<W>(&dropout, first));
            for (key, row) in (first..block.rows.min(first + DROPPED)).enumerate() {
                let (scores_at, slopes_at) =
                    (block.at::<W>(block.scores, row), block.at::<W>(slopes, row));
                // SAFETY: the row is one of the block's.
                let (mut shares, mut slope) = unsafe { (block.row::<W>(row), slopes_at.read()) };
                for (share, log_sum) in shares.iter_mut().zip(log_sum) {
                    *share = (*share - log_sum).exp::<I>();
                }
                let whole = shares;
                if let Some(dropped) = &dropped {
                    for column in 0..W {
                        shares[column] = shares[column].times(dropped[key][column]);
                        slope[column] = slope[column].times(dropped[key][column]);
                    }
                }
                for column in 0..W {
                    let distance = slope[column] - delta[column];
                    slope[column] = whole[column].times(distance).times(block.scale);
                }
                // SAFETY: the row, which is one of the block's, is valid for writes, too.
                unsafe {
                    scores_at.write(shares);
                    slopes_at.write(slope);
                }
            }
        }
    }
}

/// Multiplies dense elements by a number: the result, the elements, and their number.
pub(super) struct Scaled<V>(PhantomData<V>);

impl<V: AttentionFloat> Multiversioned for Scaled<V> {
    type Arguments = (*mut V, *const V, usize, V);
    type Output = ();

    /// # Safety
    /// The elements are valid for reads and the result for writes; it is the same array, or does not
    /// overlap it.
    #[inline(always)]
    unsafe fn run<I: Isa>((out, from, count, factor): Self::Arguments) {
        // SAFETY: the conditions of this function.
        unsafe { long_map1(out, from, count, |x| x.times(factor)) };
    }
}

/// The sum of the products of dense elements.
pub(super) struct Dot<V>(PhantomData<V>);

impl<V: AttentionFloat> Multiversioned for Dot<V> {
    type Arguments = (*const V, *const V, usize);
    type Output = V;

    /// # Safety
    /// So many elements are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>((a, b, count): Self::Arguments) -> V {
        const LANES: usize = 16;
        let mut lanes = [V::ZERO; LANES];
        let whole = count / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            // SAFETY: whole groups of lanes lie within the elements.
            let (left, right) = unsafe {
                let group = |start: *const V| start.add(at).cast::<[V; LANES]>().read_unaligned();
                (group(a), group(b))
            };
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].plus(left[lane].times(right[lane]));
            }
        }
        let mut sum = V::ZERO;
        for at in whole..count {
            // SAFETY: it is one of the elements.
            sum = sum.plus(unsafe { a.add(at).read().times(b.add(at).read()) });
        }
        lanes.into_iter().fold(sum, V::plus)
    }
}
