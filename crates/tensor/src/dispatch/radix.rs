//! Calls of the kernels that put long rows in order on CUDA, digit by digit, or select elements of
//! them.

use std::ops::Range;

use gpu_runtime::{Access, Device};

use super::abi::Radix;
use super::cuda::{self, KernelTable};
use super::operands::address;
use super::sort::CHUNK;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor};

static COUNT: KernelTable = KernelTable::new();
static SCAN: KernelTable = KernelTable::new();
static SCATTER: KernelTable = KernelTable::new();

const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// The warps of a block, each of which adds up the counts of one digit.
const WARPS: usize = 8;

/// The elements that a block moves at a time, or a multiple of them.
const TILE: usize = 6144;

/// The parts that keep a large GPU busy. With more of them the counts would cost more than they gain.
const PARTS: usize = 2048;

/// The least number of elements that make up for the launches of a digit.
const MIN_FOR_DIGIT: usize = 1 << 15;

/// The longest rows: positions in them, and in a tile beyond them, have 32 bits.
const LONGEST: usize = 1 << 31;

/// Whether dense `[rows, size]` elements are sorted digit by digit: rows of several chunks, if there is
/// enough to do for the launches that this takes.
pub(super) fn is_worthwhile(input: &Tensor) -> bool {
    let [_, size] = sizes(input);
    let digits = key_bits(input) / DIGIT_BITS;
    (CHUNK + 1..=LONGEST).contains(&size) && input.numel() >= MIN_FOR_DIGIT * digits as usize
}

/// Whether the elements at `wanted` of the sorted order of dense `[rows, size]` elements are to be found
/// by [`select`]: one, or the first of many, of rows that are long enough.
pub(crate) fn is_selected(input: &Tensor, wanted: &Range<usize>) -> bool {
    let is_few = wanted.len() == 1 || wanted.end <= input.shape()[1] / 4 && !wanted.is_empty();
    input.is_cuda() && is_few && is_worthwhile(input)
}

/// The places in their rows of the one element that comes at `wanted` in the sorted order, or else of
/// all elements up to the end of `wanted`: not in order, but equal ones stay as they are.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
pub(crate) fn select(input: &Tensor, wanted: Range<usize>, descending: bool) -> Result<Tensor> {
    let ResolvedDevice::Cuda(device) = input.resolved_device() else { panic!("select on the CPU") };
    let wanted = if wanted.len() == 1 { wanted } else { 0..wanted.end };
    let rows = input.shape()[0];
    let output =
        Tensor::uninit(Shape::from([rows, wanted.len()]), DType::I64, input.resolved_device())?;
    let passes = Passes::new(device, input, &output, wanted.start, descending)?;
    let states = [passes.scratch([rows, 2], DType::I64)?, passes.scratch([rows, 2], DType::I64)?];
    let operands = passes.operands(&states);
    let mut call = Radix { input: address(input), ..passes.call };
    (call.to_selected, call.from_selected) = (address(&states[0]), address(&states[1]));
    let bits = key_bits(input);
    let all = u64::MAX >> (u64::BITS - bits);
    for shift in (0..bits).step_by(DIGIT_BITS as usize).rev() {
        call.shift = shift as i32;
        call.known = all & !(u64::MAX >> (u64::BITS - DIGIT_BITS - shift));
        // SAFETY: there is a state for each row in both, and each pass reads what the one before wrote.
        unsafe { passes.count(&operands, &call)? };
        (call.from_selected, call.to_selected) = (call.to_selected, call.from_selected);
    }
    (call.shift, call.known, call.classes) = (0, all, 1);
    // SAFETY: as above; the last state is the one that the classes are made by, and the output has a
    // place for each element that is wanted.
    unsafe {
        passes.count(&operands, &call)?;
        call.from_selected = call.to_selected;
        call.out = address(&output);
        passes.scatter(&operands, &call)?;
    }
    Ok(output)
}

/// Writes the places in their rows of the elements that come in the sorted order from `first` on, as
/// many as the output has in each row.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
pub(super) fn sort(
    device: Device,
    input: &Tensor,
    output: &Tensor,
    first: usize,
    descending: bool,
) -> Result<()> {
    let passes = Passes::new(device, input, output, first, descending)?;
    let bits = key_bits(input);
    let key_dtype = if bits == 64 { DType::I64 } else { DType::I32 };
    let new = |dtype| passes.scratch(sizes(input), dtype);
    let between = [new(key_dtype)?, new(key_dtype)?, new(DType::I32)?, new(DType::I32)?];
    let [from_keys, to_keys, from_places, to_places] = between.each_ref().map(address);
    let operands = passes.operands(&between);
    let mut call = Radix { from_keys, to_keys, from_places, to_places, ..passes.call };
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        call.shift = shift as i32;
        call.input = if shift == 0 { address(input) } else { 0 };
        call.out = if shift + DIGIT_BITS == bits { address(output) } else { 0 };
        // SAFETY: there are a key and a place for each element on both sides, and each pass reads what
        // the one before wrote; the output has a place for each element that is wanted.
        unsafe {
            passes.count(&operands, &call)?;
            passes.scatter(&operands, &call)?;
        }
        (call.from_keys, call.to_keys) = (call.to_keys, call.from_keys);
        (call.from_places, call.to_places) = (call.to_places, call.from_places);
    }
    Ok(())
}

/// The calls over some rows, as far as they are the same in all passes.
struct Passes<'a> {
    device: Device,
    input: &'a Tensor,
    output: &'a Tensor,
    /// The digits of each part, and of each row.
    counts: [Tensor; 2],
    call: Radix,
}

impl<'a> Passes<'a> {
    #[track_caller]
    fn new(
        device: Device,
        input: &'a Tensor,
        output: &'a Tensor,
        first: usize,
        descending: bool,
    ) -> Result<Passes<'a>> {
        let ([rows, size], [_, count]) = (sizes(input), sizes(output));
        let tiles = size.div_ceil(TILE);
        let part = TILE * rows.saturating_mul(tiles).div_ceil(PARTS).min(tiles);
        let parts = size.div_ceil(part);
        let new = |count| {
            Tensor::uninit(Shape::from([rows, DIGITS, count]), DType::I32, input.resolved_device())
        };
        let counts = [new(parts)?, new(1)?];
        let call = Radix {
            out: 0,
            input: 0,
            from_keys: 0,
            from_places: 0,
            to_keys: 0,
            to_places: 0,
            counts: address(&counts[0]),
            totals: address(&counts[1]),
            from_selected: 0,
            to_selected: 0,
            rows: rows as i64,
            size: size as i64,
            first: first as i64,
            count: count as i64,
            parts: parts as i64,
            part: part as i64,
            jobs: (rows * parts) as i64,
            known: 0,
            shift: 0,
            descending: i32::from(descending),
            classes: 0,
            reserved: 0,
        };
        Ok(Passes { device, input, output, counts, call })
    }

    /// Memory that is used between launches.
    #[track_caller]
    fn scratch(&self, shape: [usize; 2], dtype: DType) -> Result<Tensor> {
        Tensor::uninit(Shape::from(shape), dtype, self.input.resolved_device())
    }

    /// All that a pass may access, with the memory between passes.
    fn operands<'t>(&'t self, between: &'t [Tensor]) -> Vec<(&'t Tensor, Access)> {
        let written = [self.output].into_iter().chain(&self.counts).chain(between);
        written.map(|tensor| (tensor, Access::Write)).chain([(self.input, Access::Read)]).collect()
    }

    /// Enqueues the counting of digits, and the sums of the counts.
    ///
    /// # Safety
    /// The call is that of these passes, and its addresses are of the operands, of which it describes
    /// what is there.
    #[track_caller]
    unsafe fn count(&self, operands: &[(&Tensor, Access)], call: &Radix) -> Result<()> {
        let sums = Radix { jobs: call.rows * (DIGITS / WARPS) as i64, ..*call };
        // SAFETY: the conditions of this function; there is a count for each digit of each part.
        unsafe {
            let dtype = self.input.dtype();
            cuda::launch("radix_count", &COUNT, dtype, self.device, operands, call)?;
            cuda::launch("radix_scan", &SCAN, DType::I32, self.device, operands, &sums)
        }
    }

    /// Enqueues the launch that moves elements.
    ///
    /// # Safety
    /// As for [`Passes::count`], which came before with the same call.
    #[track_caller]
    unsafe fn scatter(&self, operands: &[(&Tensor, Access)], call: &Radix) -> Result<()> {
        let dtype = self.input.dtype();
        // SAFETY: the conditions of this function.
        unsafe { cuda::launch("radix_scatter", &SCATTER, dtype, self.device, operands, call) }
    }
}

fn sizes(rows: &Tensor) -> [usize; 2] {
    let [rows, size] = *rows.shape() else { panic!("dense rows") };
    [rows, size]
}

fn key_bits(input: &Tensor) -> u32 {
    8 * input.dtype().size() as u32
}
