//! Resampling along one axis: which elements a result is made of, and how much of each.

/// The results along one axis, each a sum of weighted elements.
///
/// ```
/// use cpu_kernels::resample::{ResampleAxis, ResampleRule};
///
/// let rule = ResampleRule::Linear { scale: 0.5, is_aligned: false };
/// let axis = ResampleAxis { input: 2, output: 4, rule };
/// let mut parts = Vec::new();
/// axis.parts(1, |element, weight| parts.push((element, weight)));
/// assert_eq!(parts, [(0, 0.75), (1, 0.25)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResampleAxis {
    /// The number of elements, at least 1.
    pub input: usize,
    /// The number of results.
    pub output: usize,
    /// The rule that makes the results of the elements.
    pub rule: ResampleRule,
}

/// The elements that result `o` is made of, of elements that are `scale` results apart. Places outside
/// the axis stand for its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResampleRule {
    /// The element at `o * scale`, or if it is exact at `(o + 1/2) * scale`, rounded down. This is
    /// computed in `f32`, as PyTorch does.
    Nearest {
        /// The distance between results.
        scale: f64,
        /// Whether the middle of a result counts, and not its start.
        is_exact: bool,
    },
    /// The two elements around `o * scale` where corners are aligned, else around
    /// `(o + 1/2) * scale - 1/2`, which is at least 0.
    Linear {
        /// The distance between results.
        scale: f64,
        /// Whether the first and last results are the first and last elements.
        is_aligned: bool,
    },
    /// The four elements around such a place, by cubic convolution with a = -0.75.
    ///
    /// R. Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981).
    Cubic {
        /// The distance between results.
        scale: f64,
        /// Whether the first and last results are the first and last elements.
        is_aligned: bool,
    },
    /// Element `o - before`, mirrored at the first and the last one.
    Reflect {
        /// The results before the first element's; negative if elements are left out.
        before: isize,
    },
    /// Element `o - before`.
    Replicate {
        /// The results before the first element's; negative if elements are left out.
        before: isize,
    },
    /// Element `o - before`, from the other end on where that is outside.
    Circular {
        /// The results before the first element's; negative if elements are left out.
        before: isize,
    },
}

impl ResampleAxis {
    /// An axis on which everything stays as it is.
    pub const fn unchanged(size: usize) -> ResampleAxis {
        ResampleAxis { input: size, output: size, rule: ResampleRule::Replicate { before: 0 } }
    }

    /// Calls `part` with the elements that a result is made of, and their weights.
    #[inline]
    pub fn parts(&self, output: usize, mut part: impl FnMut(usize, f64)) {
        let last = self.input as isize - 1;
        let clamped = |place: isize| place.clamp(0, last) as usize;
        match self.rule {
            ResampleRule::Nearest { scale, is_exact } => {
                let half = if is_exact { 0.5 } else { 0.0 };
                let place = ((output as f32 + half) * scale as f32).floor();
                part(clamped(place as isize), 1.0);
            }
            ResampleRule::Linear { scale, is_aligned } => {
                let place = source(output, scale, is_aligned).max(0.0);
                let (first, rest) = (place.floor(), place - place.floor());
                part(clamped(first as isize), 1.0 - rest);
                part(clamped(first as isize + 1), rest);
            }
            ResampleRule::Cubic { scale, is_aligned } => {
                let place = source(output, scale, is_aligned);
                let (first, rest) = (place.floor(), place - place.floor());
                for (at, weight) in (-1..).zip(cubic_weights(rest)) {
                    part(clamped(first as isize + at), weight);
                }
            }
            ResampleRule::Reflect { before } => {
                let place = (output as isize - before).abs();
                part(clamped(if place > last { 2 * last - place } else { place }), 1.0);
            }
            ResampleRule::Replicate { before } => part(clamped(output as isize - before), 1.0),
            ResampleRule::Circular { before } => {
                part((output as isize - before).rem_euclid(last + 1) as usize, 1.0);
            }
        }
    }
}

/// The place of a result among the elements.
fn source(output: usize, scale: f64, is_aligned: bool) -> f64 {
    if is_aligned { output as f64 * scale } else { (output as f64 + 0.5) * scale - 0.5 }
}

/// The weights of four elements around a place that lies `rest` behind the second one.
fn cubic_weights(rest: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(rest + 1.0), near(rest), near(1.0 - rest), far(2.0 - rest)]
}
