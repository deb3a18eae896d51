//! The weight of a correlation as dense rows of values: one for each channel of results, with an
//! element for each channel of the source and each tap.

use std::marker::PhantomData;

use expression::DType;

use super::axis::{ConvAxis, taps};
use super::shape::{ConvPass, ConvShape};
use crate::convert::{Load, LoadArguments, Loaded};
use crate::instruction_set::InstructionSet;
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// The rows, where they lie in the weight itself or packed.
pub(super) struct WeightRows<V> {
    /// Memory for packed ones, which `start` is the beginning of.
    _packed: Vec<V>,
    start: SharedPointer<V>,
    /// The elements of a row.
    pub(super) depth: usize,
}

impl<V: Loaded> WeightRows<V> {
    /// The rows of a weight, for the results that a pass has along some axes.
    ///
    /// # Safety
    /// The weight is valid for reads, dense and of the shape and the dtype, which is computed in
    /// `V`; nobody writes it as long as the rows are used. The processor has the set.
    pub(super) unsafe fn new(
        weight: *const u8,
        shape: &ConvShape,
        axes: &[ConvAxis; 3],
        pass: ConvPass,
        (dtype, set): (DType, InstructionSet),
    ) -> WeightRows<V> {
        let (results, sources) = match pass {
            ConvPass::Input => (shape.in_channels, shape.out_channels),
            _ => (shape.out_channels, shape.in_channels),
        };
        let depth = sources * taps(axes);
        if pass == ConvPass::Output && dtype == V::DTYPE {
            let start = SharedPointer::of_const(weight.cast());
            return WeightRows { _packed: Vec::new(), start, depth };
        }
        let mut packed = Vec::with_capacity(shape.groups * results * depth);
        let start = SharedPointer::new(packed.as_mut_ptr());
        let packing = Packing::<V> {
            positions: positions(axes, shape.kernel),
            row_len: shape.in_channels * shape.kernel.iter().product::<usize>(),
            kernel: shape.kernel.iter().product(),
            of_input: pass == ConvPass::Input,
            shape: *shape,
            depth,
            load: V::load_from(dtype, set).expect("the dtype is computed in the type"),
            values: PhantomData,
        };
        let bytes = packing.row_len * size_of::<V>();
        let weight = SharedPointer::of_const(weight);
        pool::split(shape.groups * shape.out_channels, 4 * bytes, |channels| {
            let mut row = vec![V::ZERO; packing.row_len];
            for channel in channels {
                let from = weight.get().wrapping_add(channel * packing.row_len * dtype.size());
                // SAFETY: the row is one of the weight's, and there is room for its elements, which
                // no other row has.
                unsafe { packing.pack(from, channel, &mut row, start.get()) };
            }
        });
        WeightRows { _packed: packed, start, depth }
    }

    /// The beginning of the row of a channel, counted over all groups.
    pub(super) fn row(&self, channel: usize) -> *const V {
        self.start.get().cast_const().wrapping_add(channel * self.depth)
    }
}

/// The positions of the taps in a kernel.
fn positions(axes: &[ConvAxis; 3], kernel: [usize; 3]) -> Vec<usize> {
    let mut positions = Vec::with_capacity(taps(axes));
    for plane in &axes[0].taps {
        for row in &axes[1].taps {
            let row = plane.position * kernel[1] + row.position;
            positions.extend(axes[2].taps.iter().map(|tap| row * kernel[2] + tap.position));
        }
    }
    positions
}

struct Packing<V> {
    positions: Vec<usize>,
    /// The elements of an output's channel of the weight.
    row_len: usize,
    /// The elements of a kernel.
    kernel: usize,
    of_input: bool,
    shape: ConvShape,
    depth: usize,
    load: Load,
    values: PhantomData<V>,
}

impl<V: Loaded> Packing<V> {
    /// Packs what belongs to one channel of the output, by way of `row`.
    ///
    /// # Safety
    /// The row is valid for reads, and `to` for writes of all packed rows.
    unsafe fn pack(&self, from: *const u8, channel: usize, row: &mut [V], to: *mut V) {
        let call = LoadArguments { from, stride: 1, len: row.len(), to: row.as_mut_ptr().cast() };
        // SAFETY: the row is valid, and `row` has its length.
        unsafe { (self.load)(call) };
        let (group, own) = (channel / self.shape.out_channels, channel % self.shape.out_channels);
        for (other, kernel) in row.chunks_exact(self.kernel).enumerate() {
            let (result, source) = match self.of_input {
                true => (group * self.shape.in_channels + other, own),
                false => (channel, other),
            };
            let start = result * self.depth + source * self.positions.len();
            for (at, &position) in self.positions.iter().enumerate() {
                // SAFETY: the row of the result has an element for each channel of the source and
                // each tap.
                unsafe { to.add(start + at).write(kernel[position]) };
            }
        }
    }
}
