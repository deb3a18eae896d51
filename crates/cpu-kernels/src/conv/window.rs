//! Windows: the part of a source that a band of results meets, as values, with zeros where the
//! source ends.
//!
//! In a window the sources of neighbouring results are neighbours for each tap, whatever the stride:
//! its rows have the elements of each remainder of the stride together. So what a tap meets of all
//! results is one address away from what another one does, and no element is there twice, unlike in
//! a matrix of columns (im2col), which has one for each tap.

use expression::DType;

use super::axis::ConvAxis;
use super::copy_rows::{CopyRows, RowCopy};
use crate::convert::{Load, LoadArguments, Loaded};
use crate::instruction_set::{InstructionSet, Version};

/// Values after the end of a window, which a vector of results' sources may reach.
const SLACK: usize = 64;

/// The order of a window in memory, in elements: channels, the taps of the outermost dimension, rows, and
/// in a row the remainders of the stride that taps meet.
#[derive(Clone, Debug)]
pub(super) struct WindowLayout {
    planes: usize,
    /// The rows in order, or those of each tap apart, whichever are fewer.
    rows: usize,
    are_apart: bool,
    /// The rows of results of the largest band.
    bands_rows: usize,
    remainders: Vec<usize>,
    /// The elements of a remainder in a row.
    width: usize,
}

/// A band of results: one place along the outermost dimension, and several along the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) starts: [usize; 3],
    /// The sizes along the last two dimensions.
    pub(super) sizes: [usize; 2],
}

impl WindowLayout {
    /// The layout for bands of up to these sizes.
    pub(super) fn new([planes, down, right]: &[ConvAxis; 3], sizes: [usize; 2]) -> WindowLayout {
        let in_order = (sizes[0] - 1) * down.step + down.span() + 1;
        let apart = sizes[0] * down.taps.len();
        let mut remainders: Vec<usize> =
            right.taps.iter().map(|tap| tap.shift.abs_diff(right.least()) % right.step).collect();
        remainders.sort_unstable();
        remainders.dedup();
        if remainders.is_empty() {
            // Nothing is met, but results have places all the same.
            remainders.push(0);
        }
        WindowLayout {
            planes: planes.taps.len(),
            rows: in_order.min(apart),
            are_apart: apart < in_order,
            bands_rows: sizes[0],
            remainders,
            width: sizes[1] + right.span() / right.step,
        }
    }

    fn row_len(&self) -> usize {
        self.remainders.len() * self.width
    }

    /// The elements of a channel.
    pub(super) fn channel_len(&self) -> usize {
        self.planes * self.rows * self.row_len()
    }

    /// The elements that memory for so many channels has.
    pub(super) fn len(&self, channels: usize) -> usize {
        channels * self.channel_len() + SLACK
    }

    /// The distance of the sources of a result and of the one below it.
    pub(super) fn row_distance(&self, axes: &[ConvAxis; 3]) -> usize {
        if self.are_apart { self.row_len() } else { self.row_len() * axes[1].step }
    }

    /// Whether the rows of results follow each other without rows between them.
    pub(super) fn is_flat(&self, axes: &[ConvAxis; 3]) -> bool {
        self.row_distance(axes) == self.width
    }

    /// The place of the first result's source for each channel and tap, in the order of a weight.
    pub(super) fn offsets(&self, axes: &[ConvAxis; 3], channels: usize) -> Vec<usize> {
        let [_, down, right] = axes;
        let mut offsets = Vec::with_capacity(channels * super::axis::taps(axes));
        for plane in 0..channels * self.planes {
            for (number, row) in down.taps.iter().enumerate() {
                let row = match self.are_apart {
                    true => number * self.bands_rows,
                    false => row.shift.abs_diff(down.least()),
                };
                let start = (plane * self.rows + row) * self.row_len();
                for tap in &right.taps {
                    let along = tap.shift.abs_diff(right.least());
                    let remainder = self.remainders.partition_point(|of| *of < along % right.step);
                    offsets.push(start + remainder * self.width + along / right.step);
                }
            }
        }
        offsets
    }

    /// The row of the source that a row of a band's window has.
    fn source_row(&self, down: &ConvAxis, band: Band, row: usize) -> isize {
        if self.are_apart {
            let (tap, at) = (row / self.bands_rows, row % self.bands_rows);
            ((band.starts[1] + at) * down.step) as isize + down.taps[tap].shift
        } else {
            down.start(band.starts[1]) + row as isize
        }
    }
}

/// The source that windows are filled from: dense channels of a dtype that is computed in `V`.
pub(super) struct WindowSource<'a, V: Loaded> {
    axes: &'a [ConvAxis; 3],
    layout: &'a WindowLayout,
    load: Load,
    /// Bytes per element.
    size: usize,
    /// The way for rows that need no conversion and lie in the window as in the source.
    copy: Option<Version<CopyRows<V>>>,
}

impl<'a, V: Loaded> WindowSource<'a, V> {
    pub(super) fn new(
        axes: &'a [ConvAxis; 3],
        layout: &'a WindowLayout,
        (dtype, set): (DType, InstructionSet),
    ) -> WindowSource<'a, V> {
        let is_plain = dtype == V::DTYPE && layout.remainders.len() == 1 && axes[2].step == 1;
        WindowSource {
            axes,
            layout,
            load: V::load_from(dtype, set).expect("the dtype is computed in the type"),
            size: dtype.size(),
            copy: (is_plain && !layout.are_apart).then(|| set.version::<CopyRows<V>>()),
        }
    }

    /// Fills the window of a band in so many channels.
    ///
    /// # Safety
    /// The channels are valid for reads from `source` on, and the window's memory for writes of as
    /// many elements as it says; the band is no larger than those of the layout.
    pub(super) unsafe fn fill(&self, source: *const u8, channels: usize, band: Band, to: *mut V) {
        let [planes, down, right] = self.axes;
        let plane_len = self.layout.rows * self.layout.row_len();
        let mut plane_to = to;
        for channel in 0..channels {
            for tap in &planes.taps {
                let plane = (band.starts[0] * planes.step) as isize + tap.shift;
                let line = (channel * planes.size) as isize + plane;
                let offset = line * (down.size * right.size * self.size) as isize;
                // SAFETY: the plane lies in the window, and if it is inside, in the source.
                unsafe {
                    if (0..planes.size as isize).contains(&plane) {
                        self.plane(source.wrapping_offset(offset), band, plane_to);
                    } else {
                        plane_to.write_bytes(0, plane_len);
                    }
                    plane_to = plane_to.add(plane_len);
                }
            }
        }
        // SAFETY: there is room for them.
        unsafe { plane_to.write_bytes(0, SLACK) };
    }

    /// # Safety
    /// The conditions of [`WindowSource::fill`], for a plane, which begins at `from` in the source.
    unsafe fn plane(&self, from: *const u8, band: Band, to: *mut V) {
        let [_, down, right] = self.axes;
        if let Some(copy) = self.copy {
            let cut = |start: isize, count: usize, size: usize| {
                let before = (-start).clamp(0, count as isize).cast_unsigned();
                let end = (size as isize - start).clamp(before as isize, count as isize);
                let end = end.cast_unsigned();
                ([before, end - before, count - end], start.max(0).cast_unsigned())
            };
            let (rows, first_row) = cut(down.start(band.starts[1]), self.layout.rows, down.size);
            let (columns, first) = cut(right.start(band.starts[2]), self.layout.width, right.size);
            let from = from.cast::<V>().wrapping_add(first_row * right.size + first);
            // SAFETY: the rows and columns between the zeros are the source's; after the plane there
            // is another one, which comes later, or slack.
            return unsafe { copy(RowCopy { to, from, rows, columns, from_row: right.size }) };
        }
        for row in 0..self.layout.rows {
            let to = to.wrapping_add(row * self.layout.row_len());
            let row = self.layout.source_row(down, band, row);
            let from = from.wrapping_offset(row * (right.size * self.size) as isize);
            // SAFETY: the row lies in the window, and if it is inside, in the source.
            unsafe {
                match (0..down.size as isize).contains(&row) {
                    true => self.row(from, band.starts[2], to),
                    false => to.write_bytes(0, self.layout.row_len()),
                }
            }
        }
    }

    /// # Safety
    /// The conditions of [`WindowSource::fill`], for a row.
    unsafe fn row(&self, from: *const u8, start: usize, to: *mut V) {
        let axis = &self.axes[2];
        let (step, width) = (axis.step as isize, self.layout.width);
        for (number, &remainder) in self.layout.remainders.iter().enumerate() {
            let first = axis.start(start) + remainder as isize;
            let until = |end: isize| {
                let places = (end - first).max(0).cast_unsigned().div_ceil(axis.step);
                places.min(width)
            };
            let (before, end) = (until(0), until(axis.size as isize));
            let to = to.wrapping_add(number * width);
            let offset = first + before as isize * step;
            let from = from.wrapping_offset(offset * self.size as isize);
            // SAFETY: the elements from `before` to `end` are those inside the row; all are in the
            // window.
            unsafe {
                to.write_bytes(0, before);
                let inside = to.add(before).cast();
                let len = end - before;
                (self.load)(LoadArguments { from, stride: step, len, to: inside });
                to.add(end).write_bytes(0, width - end);
            }
        }
    }
}
