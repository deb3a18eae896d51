//! One dimension of a correlation: which elements of the source meet which weights for a result.

use super::shape::ConvShape;

/// A position of the kernel along a dimension, and where the source of result 0 lies for it: before
/// the first element if it is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tap {
    pub(super) position: usize,
    pub(super) shift: isize,
}

/// Results `first + i * spacing`, of which number `i` meets the source at `i * step + shift` for
/// each tap.
#[derive(Clone, Debug)]
pub(super) struct ConvAxis {
    pub(super) count: usize,
    pub(super) step: usize,
    /// The size of the source.
    pub(super) size: usize,
    pub(super) taps: Vec<Tap>,
    pub(super) first: usize,
    pub(super) spacing: usize,
}

impl ConvAxis {
    /// The outputs of a convolution, from its inputs.
    pub(super) fn of_output(shape: &ConvShape, dim: usize) -> ConvAxis {
        let tap = |position: usize| {
            let shift = (position * shape.dilation[dim]) as isize - shape.padding[dim] as isize;
            Tap { position, shift }
        };
        let axis = ConvAxis {
            count: shape.output[dim],
            step: shape.stride[dim],
            size: shape.input[dim],
            taps: (0..shape.kernel[dim]).map(tap).collect(),
            first: 0,
            spacing: 1,
        };
        axis.clamped()
    }

    /// The inputs of a convolution, from its outputs: as many axes as the stride, each of inputs
    /// that lie a stride apart and so meet the same positions of the kernel.
    pub(super) fn of_input(shape: &ConvShape, dim: usize) -> Vec<ConvAxis> {
        let (size, stride) = (shape.input[dim], shape.stride[dim]);
        let axis = |first: usize| {
            let tap = |position: usize| {
                let at = (first + shape.padding[dim]) as isize
                    - (position * shape.dilation[dim]) as isize;
                let shift = at.div_euclid(stride as isize);
                (at.rem_euclid(stride as isize) == 0).then_some(Tap { position, shift })
            };
            let axis = ConvAxis {
                count: (size - first).div_ceil(stride),
                step: 1,
                size: shape.output[dim],
                taps: (0..shape.kernel[dim]).filter_map(tap).collect(),
                first,
                spacing: stride,
            };
            axis.clamped()
        };
        (0..stride.min(size)).map(axis).collect()
    }

    /// The axis with the taps that meet nothing moved next to what others meet, so that shifts stay
    /// small whatever the padding and the dilation.
    fn clamped(mut self) -> ConvAxis {
        let least = -((self.count.saturating_sub(1) * self.step) as isize) - 1;
        for tap in &mut self.taps {
            tap.shift = tap.shift.clamp(least, self.size as isize);
        }
        self
    }

    /// The least shift.
    pub(super) fn least(&self) -> isize {
        self.taps.iter().map(|tap| tap.shift).min().unwrap_or(0)
    }

    /// The largest shift less the least one.
    pub(super) fn span(&self) -> usize {
        let largest = self.taps.iter().map(|tap| tap.shift).max().unwrap_or(0);
        largest.abs_diff(self.least())
    }

    /// The first element of the source that result `at` meets.
    pub(super) fn start(&self, at: usize) -> isize {
        (at * self.step) as isize + self.least()
    }
}

/// The number of taps of three axes.
pub(super) fn taps(axes: &[ConvAxis; 3]) -> usize {
    axes.iter().map(|axis| axis.taps.len()).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_of_an_input_have_each_pair_of_the_output_s_axis_once() {
        for (input, kernel, stride, padding, dilation) in
            [(7, 3, 1, 1, 1), (9, 3, 2, 1, 1), (10, 2, 3, 0, 2), (5, 4, 3, 3, 1), (4, 1, 2, 0, 1)]
        {
            let output = (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
            let of = |size| [1, 1, size];
            let shape = ConvShape {
                batch: 1,
                groups: 1,
                in_channels: 1,
                out_channels: 1,
                input: of(input),
                kernel: of(kernel),
                output: of(output),
                stride: of(stride),
                padding: [0, 0, padding],
                dilation: of(dilation),
            };
            // Which output meets which input at which position of the kernel.
            let met = |axis: &ConvAxis| {
                let mut met = Vec::new();
                for at in 0..axis.count {
                    for tap in &axis.taps {
                        let source = (at * axis.step) as isize + tap.shift;
                        if (0..axis.size as isize).contains(&source) {
                            met.push((axis.first + at * axis.spacing, tap.position, source));
                        }
                    }
                }
                met
            };
            let mut forward: Vec<_> = met(&ConvAxis::of_output(&shape, 2))
                .into_iter()
                .map(|(output, position, input)| (input as usize, position, output as isize))
                .collect();
            let mut backward: Vec<_> = ConvAxis::of_input(&shape, 2).iter().flat_map(met).collect();
            forward.sort_unstable();
            backward.sort_unstable();
            assert_eq!(forward, backward);
        }
    }
}
