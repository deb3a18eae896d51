//! Copies on one device: conversions between dtypes, dense copies, filling.

use crate::autograd::record;
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{self, Input, Operator, Signature};
use crate::host::copy;
use crate::{DType, Result, Scalar, Tensor};

/// Copies from each dtype, by [`DType::index`].
static COPY: [Operator<Elementwise<2>>; 10] = [
    Operator::new("copy_f64", copy::from_f64).with_signature(Signature::Converts(DType::F64)),
    Operator::new("copy_f32", copy::from_f32).with_signature(Signature::Converts(DType::F32)),
    Operator::new("copy_f16", copy::from_f16).with_signature(Signature::Converts(DType::F16)),
    Operator::new("copy_bf16", |_| None).with_signature(Signature::Converts(DType::BF16)),
    Operator::new("copy_i64", copy::from_i64).with_signature(Signature::Converts(DType::I64)),
    Operator::new("copy_i32", |_| None).with_signature(Signature::Converts(DType::I32)),
    Operator::new("copy_i16", |_| None).with_signature(Signature::Converts(DType::I16)),
    Operator::new("copy_i8", |_| None).with_signature(Signature::Converts(DType::I8)),
    Operator::new("copy_u8", copy::from_u8).with_signature(Signature::Converts(DType::U8)),
    Operator::new("copy_bool", copy::from_bool).with_signature(Signature::Converts(DType::Bool)),
];

impl Tensor {
    /// The same elements side by side in row-major order: the tensor itself if they lie so already,
    /// else a copy.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.clone_data() }
    }

    /// A copy of the elements in memory of its own (PyTorch's `clone`). Gradients flow through.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn clone_data(&self) -> Result<Tensor> {
        let copy = convert(self, self.dtype())?;
        Ok(record("clone", [self], copy, |_| |gradient: &Tensor, _| Ok([Some(gradient.clone())])))
    }
}

/// A dense copy in `dtype` on the same device, without history.
#[track_caller]
pub(super) fn convert(source: &Tensor, dtype: DType) -> Result<Tensor> {
    let copy = Tensor::uninit(source.layout().shape().clone(), dtype, source.resolved_device())?;
    copy_to(Input::New(&copy), &copy, source)?;
    Ok(copy)
}

/// `source` itself if it has this dtype and is contiguous, else a copy that has and is.
#[track_caller]
pub(super) fn dense(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype && source.is_contiguous() {
        Ok(source.clone())
    } else {
        convert(source, dtype)
    }
}

/// Copies the elements of `source`, broadcast and converted, into `target` on the same device.
#[track_caller]
pub(super) fn copy_into(target: &Tensor, source: &Tensor) -> Result<()> {
    copy_to(Input::Tensor(target), target, source)
}

/// Copies the elements of `source` into `target`, which is `operand`.
#[track_caller]
fn copy_to(operand: Input<'_>, target: &Tensor, source: &Tensor) -> Result<()> {
    let operands = [operand, Input::Tensor(source)];
    let operator = COPY[source.dtype().index()].for_dtype(target.dtype());
    dispatch::elementwise(operator, target.resolved_device(), operands)
}

/// Sets all elements to `value`.
#[track_caller]
pub(super) fn fill(target: &Tensor, value: Scalar) -> Result<()> {
    let dtype = target.dtype();
    let operands = [Input::Tensor(target), Input::Immediate(value.bits(dtype))];
    let operator = COPY[dtype.index()].for_dtype(dtype);
    dispatch::elementwise(operator, target.resolved_device(), operands)
}
