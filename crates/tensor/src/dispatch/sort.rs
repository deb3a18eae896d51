//! Calls of sorting kernels, which give the order of the elements of rows.

use std::ops::Range;

use gpu_runtime::Access;

use super::abi::Sort;
use super::{Operands, Operator, radix};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor};

/// The elements that a block of CUDA sorts at a time, as `kernels/sort.cu` has it.
pub(super) const CHUNK: usize = 2048;

/// The dtype that elements of `dtype` are sorted in on CUDA, where there are kernels for numbers of
/// 32 and of 64 bits: one that has all its values. Rows that are too long for places of 32 bits take
/// the wide ones.
pub(crate) fn sorted_dtype(dtype: DType, size: usize) -> DType {
    let is_wide = dtype.size() == 8 || u32::try_from(size).is_err();
    match (dtype.is_float(), is_wide) {
        (true, true) => DType::F64,
        (true, false) => DType::F32,
        (false, true) => DType::I64,
        (false, false) => DType::I32,
    }
}

/// The places in their rows of the elements that come at `wanted` in the sorted order, as `I64`
/// `[rows, wanted.len()]`, of dense `[rows, size]` elements.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
pub(crate) fn argsort(
    operator: &'static Operator<Sort>,
    input: &Tensor,
    wanted: Range<usize>,
    descending: bool,
) -> Result<Tensor> {
    let (op, device) = (operator.name(), input.resolved_device());
    let [rows, size] = *input.shape() else { panic!("{op}: prepared operands") };
    assert!(input.is_contiguous() && wanted.end <= size, "{op}: prepared operands");
    let output = Tensor::uninit(Shape::from([rows, wanted.len()]), DType::I64, device)?;
    if output.numel() == 0 {
        return Ok(output);
    }
    if let ResolvedDevice::Cuda(cuda) = device
        && radix::is_worthwhile(input)
    {
        radix::sort(cuda, input, &output, wanted.start, descending)?;
        return Ok(output);
    }
    // An item of a run is kept if it may be among those that are wanted.
    let chunks = if input.is_cuda() { size.div_ceil(CHUNK) } else { 1 };
    let width = size.min(chunks.saturating_mul(wanted.end));
    let words = input.dtype().size().div_ceil(4);
    let runs = |count: usize| match chunks > count {
        true => Tensor::uninit(Shape::from([rows, width, words]), DType::I64, device).map(Some),
        false => Ok(None),
    };
    // Where there are no runs, the output stands in their places.
    let (odd, even) = (runs(1)?, runs(2)?);
    let sides = [odd.as_ref().unwrap_or(&output), even.as_ref().unwrap_or(&output)];
    let operands = [
        (&output, Access::Write),
        (sides[0], Access::Write),
        (sides[1], Access::Write),
        (input, Access::Read),
    ];
    let operands = Operands::hold_for_outputs(op, device, &operands, 3)?;
    let mut call = Sort {
        out: operands.address(0),
        input: operands.address(3),
        from: operands.address(2),
        to: operands.address(1),
        rows: rows as i64,
        size: size as i64,
        first: wanted.start as i64,
        count: wanted.len() as i64,
        width: width as i64,
        run: 0,
        descending: i64::from(descending),
    };
    loop {
        // SAFETY: the input is dense and of this shape, of the operator's dtype; the output has a
        // place for each that is wanted; and there is room for `width` items in each row of `from`
        // and `to`, if the rows have several chunks, an item being a word for 32 bits of a key.
        unsafe { operator.run(input.dtype(), &operands, &call)? };
        call.run = if call.run == 0 { CHUNK as i64 } else { call.run * 2 };
        if chunks == 1 || call.run >= call.size {
            break;
        }
        (call.from, call.to) = (call.to, call.from);
    }
    drop(operands);
    Ok(output)
}
