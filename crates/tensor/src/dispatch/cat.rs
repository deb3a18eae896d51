//! Launches that join dense tensors on CUDA, many of them in one.

use gpu_runtime::{Access, Device};
use smallvec::SmallVec;

use super::abi::{Cat, MAX_PARTS};
use super::cuda::{self, KernelTable};
use super::kernel_args::THREADS;
use super::operands::address;
use crate::{DType, Result, Tensor};

static KERNEL: KernelTable = KernelTable::new();

/// The widest unit that a thread moves at a time.
const MAX_UNIT: u64 = 16;

/// The bytes that a block moves before another one is worth its start.
const BLOCK_BYTES: usize = THREADS as usize * 4 * MAX_UNIT as usize;

/// The most blocks for one tensor; beyond it blocks move more.
const MAX_BLOCKS: usize = 2048;

/// A tensor that is joined with others, and the index in the dimension along which they are joined
/// at which it begins in the result.
pub(crate) type CatPart<'a> = (usize, &'a Tensor);

/// Enqueues copies of parts into their places in `output`, on the device's current stream: one launch
/// for every 64. What other parts have of `output` is left as it is.
///
/// All are dense tensors of the device, of one dtype, which differ in no size but that of `dim`, and
/// lie apart.
///
/// # Errors
/// The runtime failed.
#[track_caller]
pub(crate) fn join(
    device: Device,
    output: &Tensor,
    parts: &[CatPart<'_>],
    dim: usize,
) -> Result<()> {
    let (shape, others) = (output.shape(), output.layout().shape().without(dim));
    for (start, part) in parts {
        let like_output =
            part.layout().shape().without(dim) == others && part.dtype() == output.dtype();
        let dense = output.is_contiguous() && part.is_contiguous();
        let inside = start.checked_add(part.shape()[dim]).is_some_and(|end| end <= shape[dim]);
        assert!(like_output && dense && inside, "cat: the operands were not prepared");
    }
    if output.numel() == 0 {
        return Ok(());
    }
    for parts in parts.chunks(MAX_PARTS) {
        let mut operands: SmallVec<[(&Tensor, Access); 8]> =
            [(output, Access::Write)].into_iter().collect();
        operands.extend(parts.iter().map(|(_, part)| (*part, Access::Read)));
        let call = call(output, parts, dim);
        // SAFETY: all are dense, of one dtype, and as large as the call says (asserted above); the
        // call has addresses of no others.
        unsafe { cuda::launch("cat", &KERNEL, DType::U8, device, &operands, &call)? };
    }
    Ok(())
}

/// The arguments of a launch for at most [`MAX_PARTS`] parts.
fn call(output: &Tensor, parts: &[CatPart<'_>], dim: usize) -> Cat {
    let inner = output.shape()[dim + 1..].iter().product::<usize>() * output.dtype().size();
    let row_bytes = output.shape()[dim] * inner;
    let rows = output.shape()[..dim].iter().product::<usize>();
    let mut call = Cat {
        out: address(output),
        rows: rows as i64,
        row_bytes: row_bytes as i64,
        count: parts.len() as i32,
        unit: 0,
        parts: [0; MAX_PARTS],
        starts: [0; MAX_PARTS],
        widths: [0; MAX_PARTS],
        first_blocks: [0; MAX_PARTS + 2],
    };
    // A power of two divides all of these if it divides what they have together.
    let mut together = MAX_UNIT | call.out | row_bytes as u64;
    for (position, (start, part)) in parts.iter().enumerate() {
        let width = part.shape()[dim] * inner;
        call.parts[position] = address(part);
        call.starts[position] = (start * inner) as i64;
        call.widths[position] = width as i64;
        let blocks = (rows * width).div_ceil(BLOCK_BYTES).clamp(1, MAX_BLOCKS);
        call.first_blocks[position + 1] = call.first_blocks[position] + blocks as i32;
        together |= address(part) | (start * inner) as u64 | width as u64;
    }
    call.unit = 1 << together.trailing_zeros();
    call
}
