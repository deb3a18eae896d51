//! Windows along one axis: which elements they have, and which of them have an element.

use std::ops::Range;

/// The windows along one axis of an array.
///
/// ```
/// use cpu_kernels::pooling::{WindowAxis, Windows};
///
/// let windows = Windows::Sliding { kernel: 3, stride: 2, padding: 1, dilation: 1 };
/// let axis = WindowAxis { input: 5, output: 3, windows };
/// assert_eq!(axis.window(0).collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(axis.window(1).collect::<Vec<_>>(), [1, 2, 3]);
/// assert_eq!(axis.covering(1), 0..2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAxis {
    /// The number of elements.
    pub input: usize,
    /// The number of windows.
    pub output: usize,
    /// The places of the windows.
    pub windows: Windows,
}

/// The places of windows along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Window `o` has `kernel` elements, `dilation` apart, from `o * stride - padding` on; those that
    /// lie outside the array are left out. All numbers are less than 2^31, and only the padding may
    /// be 0.
    Sliding {
        /// The number of elements of a window.
        kernel: usize,
        /// The distance from window to window.
        stride: usize,
        /// The elements that are added at each end.
        padding: usize,
        /// The distance from element to element.
        dilation: usize,
    },
    /// Windows of about the same length, as many as there are outputs, which cover all elements: window
    /// `o` begins at `o * input / output`, rounded down, and ends at `(o + 1) * input /
    /// output`, rounded up.
    Adaptive,
}

/// The elements of a window: `count` of them, `step` apart.
#[derive(Clone, Copy)]
pub(super) struct WindowSpan {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) step: usize,
}

impl WindowSpan {
    #[inline(always)]
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.step)
    }
}

impl WindowAxis {
    /// The elements of a window.
    pub fn window(&self, output: usize) -> impl Iterator<Item = usize> {
        self.span(output).places()
    }

    /// The windows that reach over an element: all that have it, and those that leave it out between
    /// two of theirs.
    #[inline]
    pub fn covering(&self, input: usize) -> Range<usize> {
        match self.windows {
            Windows::Sliding { kernel, stride, padding, dilation } => {
                let end = ((input + padding) / stride + 1).min(self.output);
                let reach = (kernel - 1) * dilation;
                (input + padding).saturating_sub(reach).div_ceil(stride).min(end)..end
            }
            Windows::Adaptive => {
                let start = input * self.output / self.input;
                start..((input + 1) * self.output).div_ceil(self.input)
            }
        }
    }

    #[inline(always)]
    pub(super) fn span(&self, output: usize) -> WindowSpan {
        match self.windows {
            Windows::Sliding { kernel, stride, padding, dilation } => {
                let start = output * stride;
                let outside = padding.saturating_sub(start).div_ceil(dilation);
                let first = (start + outside * dilation).saturating_sub(padding);
                let inside = self.input.saturating_sub(first).div_ceil(dilation);
                let count = kernel.saturating_sub(outside).min(inside);
                WindowSpan { first, count, step: dilation }
            }
            Windows::Adaptive => {
                let first = output * self.input / self.output;
                let end = ((output + 1) * self.input).div_ceil(self.output);
                WindowSpan { first, count: end - first, step: 1 }
            }
        }
    }

    /// The number of elements that an average along the axis is divided by, which may have those of
    /// the padding among them; those beyond it never count.
    #[inline(always)]
    pub(super) fn length(&self, output: usize, counts_padding: bool) -> usize {
        match self.windows {
            Windows::Sliding { kernel, stride, padding, .. } if counts_padding => {
                // From the padding's start on.
                let start = output * stride;
                kernel.min((self.input + 2 * padding).saturating_sub(start))
            }
            _ => self.span(output).count,
        }
    }

    /// The sliding windows that lie in the array as a whole.
    pub(super) fn whole(&self) -> Range<usize> {
        let Windows::Sliding { kernel, stride, padding, dilation } = self.windows else {
            return 0..0;
        };
        let start = padding.div_ceil(stride);
        let reach = (kernel - 1) * dilation;
        let end = match (self.input + padding).checked_sub(reach + 1) {
            Some(last) => (last / stride + 1).min(self.output),
            None => 0,
        };
        start.min(end)..end
    }
}
