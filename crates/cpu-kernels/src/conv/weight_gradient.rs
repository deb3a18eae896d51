//! The gradient of a weight: for each channel of the input and position of the kernel, and each channel
//! of the output, the sum over samples and places of an output's products with the inputs it meets.
//!
//! It is computed in transposed order, so that vectors run along the channels of the output: those are
//! packed as rows, one for each place, and the numbers that they are multiplied with are read from a
//! window of the input.

use std::marker::PhantomData;
use std::ops::Range;

use expression::DType;

use super::axis::ConvAxis;
use super::bands::ConvBands;
use super::correlation::heights;
use super::shape::{ConvOperands, ConvShape};
use super::tile::{GatherTile, gather_kernel};
use super::value::ConvValue;
use super::window::{Band, WindowLayout, WindowSource};
use crate::convert::{Load, LoadArguments};
use crate::instruction_set::InstructionSet;
use crate::matmul::tile::{MAX_VECTORS, TileSizes};
use crate::movers::{Copy2d, copy};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::thread_scratch::with_thread_scratch;

/// The bytes of the sums of all parts that the samples are cut into.
const SUMS: usize = 1 << 22;

/// The most parts. Parts depend on sizes alone, so that results do not depend on the threads.
const MAX_PARTS: usize = 8;

/// The bytes of packed outputs.
const PACKED: usize = 1 << 19;

/// The rows whose sums are added up, and brought to memory, together.
const ROWS_TOGETHER: usize = 64;

/// Computes the gradient.
///
/// # Safety
/// The conditions of [`ConvKernel::run`](super::ConvKernel::run), whose dtype is computed in `V`.
pub(super) unsafe fn run<V: ConvValue>(
    kernel: (DType, InstructionSet),
    shape: &ConvShape,
    operands: &ConvOperands,
) {
    let kernel_len: usize = shape.kernel.iter().product();
    let rows = shape.in_channels * kernel_len;
    if rows * shape.out_channels * shape.groups == 0 {
        return;
    }
    let axes = [0, 1, 2].map(|dim| ConvAxis::of_output(shape, dim));
    let gradient = WeightGradient::<V>::new(kernel, shape, operands, &axes);
    let len = shape.groups * rows * gradient.sums_row;
    let mut sums = vec![V::ZERO; gradient.parts * len];
    let start = SharedPointer::new(sums.as_mut_ptr());
    // SAFETY: there is room for the sums of each part; all else are conditions of this function.
    unsafe {
        if axes.iter().all(|axis| axis.count > 0) {
            gradient.sum(start);
        }
        gradient.store(start, len);
    }
}

struct WeightGradient<'a, V> {
    shape: &'a ConvShape,
    axes: &'a [ConvAxis; 3],
    dtype: DType,
    set: InstructionSet,
    sizes: TileSizes,
    input: SharedPointer<u8>,
    output: SharedPointer<u8>,
    weight: SharedPointer<u8>,
    load: Load,
    /// The elements of a kernel.
    kernel_len: usize,
    /// The elements of a row of sums, which are whole vectors, and of a packed row of a panel.
    sums_row: usize,
    packed_row: usize,
    /// The parts that the samples are cut into, and the input's channels.
    parts: usize,
    channels: usize,
    layout: WindowLayout,
    bands: ConvBands,
    /// The place in the window of each row's first number, and the place of each packed row.
    row_places: Vec<usize>,
    packed_places: Vec<usize>,
    values: PhantomData<V>,
}

impl<'a, V: ConvValue> WeightGradient<'a, V> {
    fn new(
        (dtype, set): (DType, InstructionSet),
        shape: &'a ConvShape,
        operands: &ConvOperands,
        axes: &'a [ConvAxis; 3],
    ) -> WeightGradient<'a, V> {
        let sizes = TileSizes::new::<V>(set);
        let kernel_len: usize = shape.kernel.iter().product();
        let sums_row = shape.out_channels.next_multiple_of(sizes.lanes);
        let vectors = sums_row / sizes.lanes;
        let bytes = shape.groups * shape.in_channels * kernel_len * sums_row * size_of::<V>();
        let parts = (SUMS / bytes).clamp(1, MAX_PARTS).min(shape.batch.max(1));
        let jobs = parts * shape.groups;
        let channels = shape.in_channels.div_ceil(MAX_PARTS.div_ceil(jobs));
        let axes_have_results = axes.iter().all(|axis| axis.count > 0);
        let most = (PACKED / (sums_row * size_of::<V>())).max(64);
        let bands = match axes_have_results {
            true => ConvBands::new(axes, channels, size_of::<V>(), [most, 1]),
            false => ConvBands::none(),
        };
        let layout = WindowLayout::new(axes, bands.sizes);
        let packed_row = vectors.div_ceil(vectors.div_ceil(MAX_VECTORS)) * sizes.lanes;
        WeightGradient {
            shape,
            axes,
            dtype,
            set,
            sizes,
            input: SharedPointer::new(operands.input),
            output: SharedPointer::new(operands.output),
            weight: SharedPointer::new(operands.weight),
            load: V::load_from(dtype, set).expect("it is computed in the type"),
            kernel_len,
            sums_row,
            packed_row,
            parts,
            channels,
            row_places: layout.offsets(axes, channels),
            packed_places: (0..bands.sizes[0] * bands.sizes[1]).map(|at| at * packed_row).collect(),
            layout,
            bands,
            values: PhantomData,
        }
    }

    /// Adds up the products of each part in sums of its own, `[part, group, row, out_channel]`, where
    /// rows are channels of the input and positions of the kernel.
    ///
    /// # Safety
    /// The conditions of [`run`]; there is room for the sums.
    unsafe fn sum(&self, sums: SharedPointer<V>) {
        let shape = self.shape;
        let blocks = shape.in_channels.div_ceil(self.channels);
        let samples = shape.batch.div_ceil(self.parts);
        let outputs: usize = shape.output.iter().product();
        let work = self.channels * self.kernel_len * self.sums_row;
        let cost = work.saturating_mul(samples * outputs) / 2;
        let [down, right] = self.bands.sizes;
        let window = self.layout.len(self.channels);
        let window = window.next_multiple_of(self.sizes.lanes);
        let panels = self.sums_row.div_ceil(self.packed_row);
        let packed = panels * down * right * self.packed_row;
        // For elements that are no values, a panel's channels before they are transposed.
        let bytes = (window + packed + self.packed_row * down * right) * size_of::<V>();
        pool::split(self.parts * shape.groups * blocks, cost, |jobs| {
            with_thread_scratch(bytes, |scratch| {
                let window_at: *mut V = scratch.cast();
                let packed_at = window_at.wrapping_add(window);
                let room = packed_at.wrapping_add(packed);
                for job in jobs {
                    let (block, rest) = (job % blocks, job / blocks);
                    let (group, part) = (rest % shape.groups, rest / shape.groups);
                    let first = block * self.channels;
                    let channels = first..shape.in_channels.min(first + self.channels);
                    let row = rest * shape.in_channels * self.kernel_len;
                    let row = row + first * self.kernel_len;
                    let to = sums.get().wrapping_add(row * self.sums_row);
                    let end = shape.batch.min((part + 1) * samples);
                    for sample in part * samples..end {
                        for band in (0..self.bands.count()).map(|band| self.bands.band(band)) {
                            // SAFETY: there is room for all three, and the sums of these channels
                            // in this part are no other job's.
                            unsafe {
                                self.fill(sample, group, channels.clone(), band, window_at);
                                self.pack(sample, group, band, packed_at, room);
                                self.multiply(channels.len(), band, window_at, packed_at, to);
                            }
                        }
                    }
                }
            });
        });
    }

    /// # Safety
    /// The conditions of [`run`]; there is room for the window.
    unsafe fn fill(
        &self,
        sample: usize,
        group: usize,
        channels: Range<usize>,
        band: Band,
        window: *mut V,
    ) {
        let kernel = (self.dtype, self.set);
        let source = WindowSource::<V>::new(self.axes, &self.layout, kernel);
        let first = (sample * self.shape.groups + group) * self.shape.in_channels + channels.start;
        let from = first * self.shape.input.iter().product::<usize>() * self.dtype.size();
        // SAFETY: the channels are the input's, and there is room for the window.
        unsafe { source.fill(self.input.get().wrapping_add(from), channels.len(), band, window) };
    }

    /// Packs a band of outputs: panel after panel, in which each place has a row of channels.
    ///
    /// # Safety
    /// The conditions of [`run`]; there is room for all panels, and in `room` for one.
    unsafe fn pack(&self, sample: usize, group: usize, band: Band, packed: *mut V, room: *mut V) {
        let (shape, row) = (self.shape, self.packed_row);
        let ([rows, columns], size) = (band.sizes, self.dtype.size());
        let output: usize = shape.output.iter().product();
        let [_, down, right] = shape.output;
        let place = (band.starts[0] * down + band.starts[1]) * right + band.starts[2];
        let channel = (sample * shape.groups + group) * shape.out_channels;
        // Whole rows of outputs are one run.
        let (runs, run) = if columns == right { (1, rows * columns) } else { (rows, columns) };
        for first in (0..shape.out_channels).step_by(row) {
            let channels = row.min(shape.out_channels - first);
            let to = packed.wrapping_add(first * rows * columns);
            if channels < row {
                // SAFETY: there is room for the panel.
                unsafe { to.write_bytes(0, rows * columns * row) };
            }
            for at in 0..runs {
                let from = ((channel + first) * output + place + at * right) * size;
                let mut from = self.output.get().cast_const().wrapping_add(from);
                let mut distance = output;
                // SAFETY: the run's outputs are valid in all these channels, and there is room for
                // them in both.
                unsafe {
                    if self.dtype != V::DTYPE {
                        for channel in 0..channels {
                            (self.load)(LoadArguments {
                                from: from.add(channel * output * size),
                                stride: 1,
                                len: run,
                                to: room.add(channel * run).cast(),
                            });
                        }
                        (from, distance) = (room.cast_const().cast(), run);
                    }
                    copy(size_of::<V>(), self.set)(Copy2d {
                        to: to.add(at * run * row).cast(),
                        from,
                        sizes: [run, channels],
                        to_strides: [row as isize, 1],
                        from_strides: [1, distance as isize],
                    });
                }
            }
        }
    }

    /// Adds a band's products to the sums of some channels of the input.
    ///
    /// # Safety
    /// The window and the outputs were filled for the band, and the sums are valid for reads and
    /// writes.
    unsafe fn multiply(
        &self,
        channels: usize,
        band: Band,
        window: *const V,
        packed: *const V,
        sums: *mut V,
    ) {
        let ([rows, columns], distance) = (band.sizes, self.layout.row_distance(self.axes));
        let places = rows * columns;
        let row = |row| (0..columns).map(move |column| row * distance + column);
        let window_places: Vec<usize> = (0..rows).flat_map(row).collect();
        let heights = heights(self.sizes, 0..channels * self.kernel_len);
        let (lanes, all) = (self.sizes.lanes, self.sums_row / self.sizes.lanes);
        let most = self.packed_row / lanes;
        let mut done = 0;
        while done < all {
            let vectors = most.min(all - done);
            let right = packed.wrapping_add(done * lanes * places);
            for rows in &heights {
                let left = |row: usize| {
                    window.wrapping_add(self.row_places[rows.start + row.min(rows.len() - 1)])
                };
                let tile = GatherTile {
                    depth: places,
                    left: std::array::from_fn(left),
                    left_places: window_places.as_ptr(),
                    right: std::array::from_fn(|vector| right.wrapping_add(vector * lanes)),
                    right_places: self.packed_places.as_ptr(),
                    to: sums.wrapping_add(rows.start * self.sums_row + done * lanes),
                    to_row: self.sums_row,
                    accumulate: true,
                };
                // SAFETY: the tables have a place for each of the band's outputs, in which the
                // window and the panel are valid; the sums have whole vectors.
                unsafe { gather_kernel::<V>(self.sizes, rows.len(), vectors)(tile) };
            }
            done += vectors;
        }
    }

    /// Adds up the sums of all parts, of `len` elements each, and brings them to the weight.
    ///
    /// # Safety
    /// The conditions of [`run`]; the sums are valid for reads and writes.
    unsafe fn store(&self, sums: SharedPointer<V>, len: usize) {
        let shape = self.shape;
        let rows = shape.in_channels * self.kernel_len;
        let blocks = rows.div_ceil(ROWS_TOGETHER);
        let size = self.dtype.size();
        let (dtype, set) = (self.dtype, self.set);
        let load = V::load_from(V::DTYPE, set).expect("values are loaded as they are");
        let store = V::store_to(dtype, set).expect("it is computed in the type");
        let cost = ROWS_TOGETHER * self.sums_row * size_of::<V>() * (self.parts + 1);
        pool::split(shape.groups * blocks, cost, |jobs| {
            for job in jobs {
                let (group, first) = (job / blocks, job % blocks * ROWS_TOGETHER);
                let height = ROWS_TOGETHER.min(rows - first);
                let own = (group * rows + first) * self.sums_row;
                let start = sums.get().wrapping_add(own);
                for part in 1..self.parts {
                    let other = start.wrapping_add(part * len);
                    for at in 0..height * self.sums_row {
                        // SAFETY: both are sums of these rows, which are no other job's.
                        unsafe {
                            let sum = start.add(at).read().plus(other.add(at).read());
                            start.add(at).write(sum);
                        }
                    }
                }
                let mut line = [V::ZERO; ROWS_TOGETHER];
                for channel in 0..shape.out_channels {
                    let from = start.wrapping_add(channel).cast_const().cast();
                    let (stride, to) = (self.sums_row as isize, line.as_mut_ptr().cast());
                    let place = (group * shape.out_channels + channel) * rows + first;
                    let weight = self.weight.get().wrapping_add(place * size);
                    // SAFETY: the channel's sums are valid in all rows, and so are its weights.
                    unsafe {
                        load(LoadArguments { from, stride, len: height, to });
                        store.store(&line[..height], weight, 0);
                    }
                }
            }
        });
    }
}
