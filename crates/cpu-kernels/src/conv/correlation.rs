//! Correlations: each result is a sum over channels and taps of the products of a weight and the
//! source there. The output of a convolution is one of its input, and the gradient of the input some
//! of the output's: one for each remainder of the stride, whose results meet the same taps.

use std::mem::MaybeUninit;
use std::ops::Range;

use expression::DType;

use super::axis::ConvAxis;
use super::bands::ConvBands;
use super::results::{Panel, TileResults, panels};
use super::shape::{ConvOperands, ConvPass, ConvShape};
use super::tile::{GatherTile, gather_kernel};
use super::value::ConvValue;
use super::weights::WeightRows;
use super::window::{Band, WindowLayout, WindowSource};
use crate::convert::LoadArguments;
use crate::instruction_set::InstructionSet;
use crate::matmul::tile::{MAX_HEIGHT, MAX_VECTORS, TileSizes};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::thread_scratch::with_thread_scratch;

/// The most results of a band in a channel.
const MAX_RESULTS: usize = 1 << 12;

/// The bytes of weight rows from which on each is used for all of a band before the next one: what is
/// read again and again then is the window, and not the weight from a cache further away.
const LARGE: usize = 1 << 19;

/// Computes the output of a convolution, or its input as a gradient.
///
/// # Safety
/// The conditions of [`ConvKernel::run`](super::ConvKernel::run), whose dtype is computed in `V`.
pub(super) unsafe fn run<V: ConvValue>(
    kernel: (DType, InstructionSet),
    pass: ConvPass,
    shape: &ConvShape,
    operands: &ConvOperands,
) {
    let of_axes = |axes: [ConvAxis; 3]| {
        if axes.iter().any(|axis| axis.count == 0) || shape.batch == 0 {
            return;
        }
        // SAFETY: the conditions are the same.
        unsafe { Correlation::<V>::new(kernel, pass, shape, operands, &axes).run() }
    };
    if pass == ConvPass::Output {
        return of_axes([0, 1, 2].map(|dim| ConvAxis::of_output(shape, dim)));
    }
    let [planes, rows, columns] = [0, 1, 2].map(|dim| ConvAxis::of_input(shape, dim));
    for plane in &planes {
        for row in &rows {
            for column in &columns {
                of_axes([plane.clone(), row.clone(), column.clone()]);
            }
        }
    }
}

struct Correlation<'a, V> {
    axes: &'a [ConvAxis; 3],
    dtype: DType,
    set: InstructionSet,
    sizes: TileSizes,
    batch: usize,
    groups: usize,
    /// The source and its channels in a group.
    source: SharedPointer<u8>,
    sources: usize,
    /// The results and their channels in a group.
    to: SharedPointer<u8>,
    results: usize,
    /// The sizes of a channel of results.
    result_sizes: [usize; 3],
    weights: WeightRows<V>,
    bias: Option<Vec<V>>,
    layout: WindowLayout,
    bands: ConvBands,
    /// The places of a row's elements, and of what they meet in a window.
    weight_places: Vec<usize>,
    window_places: Vec<usize>,
}

impl<'a, V: ConvValue> Correlation<'a, V> {
    /// # Safety
    /// The conditions of [`run`]; there are results.
    unsafe fn new(
        (dtype, set): (DType, InstructionSet),
        pass: ConvPass,
        shape: &ConvShape,
        operands: &ConvOperands,
        axes: &'a [ConvAxis; 3],
    ) -> Correlation<'a, V> {
        let (source, sources, to, results, result_sizes) = match pass {
            ConvPass::Input => (
                operands.output,
                shape.out_channels,
                operands.input,
                shape.in_channels,
                shape.input,
            ),
            _ => (
                operands.input,
                shape.in_channels,
                operands.output,
                shape.out_channels,
                shape.output,
            ),
        };
        let jobs = shape.batch * shape.groups;
        let wanted = (4 * pool::threads()).div_ceil(jobs);
        let bands = ConvBands::new(axes, sources, size_of::<V>(), [MAX_RESULTS, wanted]);
        let layout = WindowLayout::new(axes, bands.sizes);
        // SAFETY: the conditions are the same.
        let weights = unsafe { WeightRows::new(operands.weight, shape, axes, pass, (dtype, set)) };
        let bias = (!operands.bias.is_null()).then(|| {
            let mut bias = vec![V::ZERO; shape.groups * results];
            let load = V::load_from(dtype, set).expect("the dtype is computed in the type");
            let (from, len, to) = (operands.bias, bias.len(), bias.as_mut_ptr().cast());
            // SAFETY: the bias has a number for each channel of the results.
            unsafe { load(LoadArguments { from, stride: 1, len, to }) };
            bias
        });
        Correlation {
            axes,
            dtype,
            set,
            sizes: TileSizes::new::<V>(set),
            batch: shape.batch,
            groups: shape.groups,
            source: SharedPointer::new(source),
            sources,
            to: SharedPointer::new(to),
            results,
            result_sizes,
            weight_places: (0..weights.depth).collect(),
            window_places: layout.offsets(axes, sources),
            weights,
            bias,
            layout,
            bands,
        }
    }

    /// # Safety
    /// The conditions of [`run`].
    unsafe fn run(&self) {
        let jobs = self.batch * self.groups * self.bands.count();
        if self.results == 0 {
            return;
        }
        // Channels are cut only where there are too few bands: each part has a window of its own.
        let parts = (2 * pool::threads()).div_ceil(jobs).min(self.results.div_ceil(MAX_HEIGHT));
        let channels = self.results.div_ceil(parts).next_multiple_of(MAX_HEIGHT);
        let parts = self.results.div_ceil(channels);
        let [down, right] = self.bands.sizes;
        let operations = self.weights.depth * channels * down * right / 2;
        pool::split(jobs * parts, operations, |jobs| {
            with_thread_scratch(self.layout.len(self.sources) * size_of::<V>(), |window| {
                let mut known: Option<([usize; 2], Vec<Panel>)> = None;
                for job in jobs {
                    let (band, part) = (job / parts, job % parts);
                    let (image, band) = (band / self.bands.count(), band % self.bands.count());
                    let band = self.bands.band(band);
                    let row = self.result_sizes[2];
                    let panels = match &known {
                        Some((sizes, panels)) if *sizes == band.sizes => panels,
                        _ => {
                            let panels =
                                panels(self.axes, &self.layout, band.sizes, row, self.sizes);
                            &known.insert((band.sizes, panels)).1
                        }
                    };
                    let end = self.results.min((part + 1) * channels);
                    // SAFETY: there is room for the window; the results are no other job's
                    // (conditions of this function).
                    unsafe {
                        self.job(image, band, part * channels..end, panels, window.cast());
                    }
                }
            });
        });
    }

    /// Computes some channels of a band in an image's group, by way of a window.
    ///
    /// # Safety
    /// The conditions of [`run`]; the window has room for the group's sources.
    unsafe fn job(
        &self,
        image: usize,
        band: Band,
        channels: Range<usize>,
        panels: &[Panel],
        window: *mut V,
    ) {
        let of_source = WindowSource::<V>::new(self.axes, &self.layout, (self.dtype, self.set));
        let size = self.dtype.size();
        let channel_len: usize = self.axes.iter().map(|axis| axis.size).product();
        let source = image * self.sources * channel_len * size;
        // SAFETY: the image's channels are the source's, and there is room for the window.
        unsafe {
            of_source.fill(self.source.get().wrapping_add(source), self.sources, band, window);
        }
        let heights = heights(self.sizes, channels);
        let weight_bytes = self.results * self.weights.depth * size_of::<V>();
        // SAFETY: the window was filled, and the tiles are those of the job.
        let tile = |rows: &Range<usize>, panel: &Panel| unsafe {
            self.tile(image, band, rows.clone(), panel, window);
        };
        if weight_bytes <= LARGE {
            panels.iter().for_each(|panel| heights.iter().for_each(|rows| tile(rows, panel)));
        } else {
            heights.iter().for_each(|rows| panels.iter().for_each(|panel| tile(rows, panel)));
        }
    }

    /// # Safety
    /// The conditions of [`Correlation::job`], after the window was filled.
    unsafe fn tile(
        &self,
        image: usize,
        band: Band,
        rows: Range<usize>,
        panel: &Panel,
        window: *const V,
    ) {
        let first = image % self.groups * self.results + rows.start;
        let width = panel.vectors * self.sizes.lanes;
        let mut sums = [const { MaybeUninit::<V>::uninit() }; MAX_HEIGHT * MAX_VECTORS * 16];
        let sums: *mut V = sums.as_mut_ptr().cast();
        let left = |row: usize| self.weights.row(first + row.min(rows.len() - 1));
        let tile = GatherTile {
            depth: self.weights.depth,
            left: std::array::from_fn(left),
            left_places: self.weight_places.as_ptr(),
            right: panel.starts.map(|start| window.wrapping_add(start)),
            right_places: self.window_places.as_ptr(),
            to: sums,
            to_row: width,
            accumulate: false,
        };
        let kernel = gather_kernel::<V>(self.sizes, rows.len(), panel.vectors);
        let [planes, down, right] = self.result_sizes;
        let place = [0, 1, 2].map(|dim| {
            let axis = &self.axes[dim];
            axis.first + band.starts[dim] * axis.spacing
        });
        let channel = image * self.results + rows.start;
        let place = ((channel * planes + place[0]) * down + place[1]) * right + place[2];
        let results = TileResults {
            sums,
            width,
            rows: rows.len(),
            pieces: (panel.pieces.as_ptr(), panel.pieces.len()),
            bias: self.bias.as_ref().map_or(std::ptr::null(), |bias| bias[first..].as_ptr()),
            to: self.to.get().wrapping_add(place * self.dtype.size()),
            to_strides: [planes * down * right, self.axes[2].spacing],
        };
        // SAFETY: the tables have a place for each element of a weight's row, in which the window
        // and the rows are valid, vectors too, after which there is slack; the results are those of
        // the panel in the rows' channels.
        unsafe {
            kernel(tile);
            V::store_results(self.dtype, self.set)(results);
        }
    }
}

/// The rows of tiles that cover some rows.
pub(super) fn heights(sizes: TileSizes, rows: Range<usize>) -> Vec<Range<usize>> {
    let mut heights = Vec::with_capacity(rows.len().div_ceil(sizes.height) + 2);
    let mut start = rows.start;
    while start < rows.end {
        let height = sizes.next_height(rows.end - start);
        heights.push(start..start + height);
        start += height;
    }
    heights
}
