//! Whether a layout has an element of its storage several times.

use smallvec::SmallVec;

use super::Run;

/// Whether two different elements of these sizes and strides have one position. All sizes are at
/// least 1.
///
/// Two elements have one position if and only if there are distances along the dimensions, not all of
/// them 0 and each less than the size, that lead from a position back to itself. The search for them
/// begins with the largest strides, so that what the smaller ones can still make up leaves few choices:
/// one at most in layouts whose dimensions lie one inside of the other, as most do.
pub(super) fn overlaps(sizes: &[usize], strides: &[isize]) -> bool {
    let runs = runs(sizes, strides);
    if runs.iter().any(|&(_, stride)| stride == 0) {
        return true;
    }
    // A first distance that is not 0 can be taken as positive: the others follow in both signs.
    (0..runs.len()).any(|first| {
        let (size, stride) = runs[first];
        let rest = &runs[first + 1..];
        let most = (size as isize - 1).min(reach(rest) / stride);
        (1..=most).any(|steps| leads_back(steps * stride, rest))
    })
}

/// The dimensions along which there are steps, those with the largest strides first. Backward ones are
/// as good as forward ones, since distances have both signs.
fn runs(sizes: &[usize], strides: &[isize]) -> SmallVec<[Run; 8]> {
    let mut runs: SmallVec<[Run; 8]> =
        sizes.iter().copied().zip(strides.iter().map(|stride| stride.abs())).collect();
    runs.retain(|&mut (size, _)| size > 1);
    runs.sort_unstable_by_key(|&(_, stride)| std::cmp::Reverse(stride));
    runs
}

/// Whether an element of these sizes and strides has the position of another one, or of itself, in what
/// lies so many elements further on. All sizes are at least 1.
pub(super) fn leads_over(way: isize, sizes: &[usize], strides: &[isize]) -> bool {
    let mut runs = runs(sizes, strides);
    runs.retain(|&mut (_, stride)| stride != 0);
    leads_back(way, &runs)
}

/// The farthest that the distances along some dimensions lead.
fn reach(runs: &[Run]) -> isize {
    // The position of each element fits, and so does the sum.
    runs.iter().map(|&(size, stride)| (size as isize - 1) * stride).sum()
}

/// Whether distances along some dimensions lead back over `way`.
fn leads_back(way: isize, runs: &[Run]) -> bool {
    match *runs {
        [] => way == 0,
        [(size, stride)] => way % stride == 0 && (way / stride).unsigned_abs() < size,
        [(size, stride), ref rest @ ..] => {
            let (reach, most) = (reach(rest), size as isize - 1);
            // Only what brings the way within the reach of the rest.
            let least = (way - reach).div_euclid(stride) + isize::from((way - reach) % stride != 0);
            let greatest = (way + reach).div_euclid(stride);
            (least.max(-most)..=greatest.min(most))
                .any(|steps| leads_back(way - steps * stride, rest))
        }
    }
}
