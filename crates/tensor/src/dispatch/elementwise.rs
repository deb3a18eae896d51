//! Calls of elementwise operators: operands of any shapes that broadcast and of any strides, and
//! numbers among them.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{Elementwise, MAX_DIMS, StridedOperand};
use super::iteration_space::{Dim, IterationSpace};
use super::{Operands, Operator};
use crate::layout::Layout;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

/// An operand of an elementwise operator.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// A tensor of the dtype that the operator's signature asks for here.
    Tensor(&'a Tensor),
    /// The output, made for this call: nobody else knows of its memory, so it needs no lock.
    New(&'a Tensor),
    /// The bits of one value of that dtype, for every element (PyTorch's wrapped number).
    Immediate(u64),
}

/// An elementwise operator that was chosen for a dtype, with the dtype of each of its operands.
#[derive(Clone, Copy)]
pub(crate) struct TypedOperator<const N: usize> {
    operator: &'static Operator<Elementwise<N>>,
    /// The dtype that the kernel is chosen by.
    dtype: DType,
    operands: [DType; N],
}

impl<const N: usize> Operator<Elementwise<N>> {
    /// The operator for a dtype, which it need not have: running it is then an error.
    pub(crate) fn for_dtype(&'static self, dtype: DType) -> TypedOperator<N> {
        let operands = std::array::from_fn(|position| self.operand_dtype(dtype, position));
        TypedOperator { operator: self, dtype, operands }
    }
}

impl<const N: usize> TypedOperator<N> {
    /// The dtype of the output.
    pub(crate) fn output_dtype(&self) -> DType {
        self.operands[0]
    }

    /// The dtypes of the inputs, in their order.
    pub(crate) fn input_dtypes(&self) -> &[DType] {
        &self.operands[1..]
    }
}

impl<'a> Input<'a> {
    fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Input::Tensor(tensor) | Input::New(tensor) => Some(tensor),
            Input::Immediate(_) => None,
        }
    }
}

/// Runs an operator on `device`: writes `operands[0]`, a tensor, from the others.
///
/// # Errors
/// An operand does not broadcast to the output's shape; the output repeats elements; the operator
/// has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn elementwise<const N: usize>(
    operator: TypedOperator<N>,
    device: ResolvedDevice,
    operands: [Input<'_>; N],
) -> Result<()> {
    let op = operator.operator.name();
    let layouts = operands.map(|operand| operand.tensor().map(Tensor::layout));
    let Some(space) = IterationSpace::new(layouts) else {
        return Err(does_not_broadcast(op, &operands));
    };
    let mut tensors: SmallVec<[(&Tensor, Access); 6]> = SmallVec::new();
    for (position, operand) in operands.iter().enumerate() {
        if let Some(tensor) = operand.tensor() {
            let expected = operator.operands[position];
            assert_eq!(tensor.dtype(), expected, "{op}: operand {position} was not converted");
            let access = if position == 0 { Access::Write } else { Access::Read };
            tensors.push((tensor, access));
        }
    }
    if layouts[0].is_some_and(Layout::overlaps_itself) {
        return Err(Error::InvalidArgument {
            op,
            argument: "self",
            value: format!(
                "a tensor with strides {:?}",
                layouts[0].map_or(&[][..], Layout::strides)
            ),
            why: "its elements share memory (expand), so each cannot be written; use contiguous()",
        });
    }
    if space.dims.iter().any(|dim| dim.size == 0) {
        return Ok(());
    }
    let held = match operands[0] {
        Input::New(_) => Operands::hold_for_new(op, device, &tensors)?,
        _ => Operands::hold(op, device, &tensors)?,
    };
    let mut call_operands = [StridedOperand::default(); N];
    let mut addresses = (0..tensors.len()).map(|position| held.address(position));
    for (operand, call) in operands.iter().zip(&mut call_operands) {
        match operand {
            Input::Immediate(bits) => call.immediate = *bits,
            Input::Tensor(_) | Input::New(_) => {
                call.data = addresses.next().expect("each tensor is held")
            }
        }
    }
    ElementwiseLauncher { operator, held: &held }.run(&space.dims, call_operands)
}

/// Runs an operator on operands that are held: in one call, or in several where a kernel cannot
/// take as many dimensions.
struct ElementwiseLauncher<'a, 'tensors, const N: usize> {
    operator: TypedOperator<N>,
    held: &'a Operands<'tensors>,
}

impl<const N: usize> ElementwiseLauncher<'_, '_, N> {
    /// Runs the operator over `dims`; where there are more than [`MAX_DIMS`], once for each index
    /// of the outermost.
    #[track_caller]
    fn run(&self, dims: &[Dim<N>], operands: [StridedOperand; N]) -> Result<()> {
        if dims.len() <= MAX_DIMS {
            let call = call(dims, operands);
            // SAFETY: each operand is a tensor of the dtype that the signature asks for (asserted
            // by `elementwise`), whose layout lies inside its storage; the dimensions and strides
            // are those of that layout.
            return unsafe { self.operator.operator.run(self.operator.dtype, self.held, &call) };
        }
        let (outermost, inner) = dims.split_first().expect("there are more than MAX_DIMS");
        for index in 0..outermost.size {
            let mut at = operands;
            for (position, operand) in at.iter_mut().enumerate().filter(|(_, o)| o.data != 0) {
                let bytes = self.operator.operands[position].size() as isize;
                let moved = index as isize * outermost.strides[position] * bytes;
                operand.data = operand.data.wrapping_add_signed(moved as i64);
            }
            self.run(inner, at)?;
        }
        Ok(())
    }
}

/// The arguments of a call over at most [`MAX_DIMS`] dimensions.
fn call<const N: usize>(dims: &[Dim<N>], mut operands: [StridedOperand; N]) -> Elementwise<N> {
    let mut sizes = [1; MAX_DIMS];
    for (position, dim) in dims.iter().enumerate() {
        sizes[position] = dim.size as i64;
        for (operand, &stride) in operands.iter_mut().zip(&dim.strides) {
            operand.strides[position] = stride as i64;
        }
    }
    let contiguous = match dims {
        [] => true,
        [dim] => operands.iter().zip(&dim.strides).all(|(o, &stride)| o.data == 0 || stride == 1),
        _ => false,
    };
    Elementwise {
        numel: sizes.iter().product(),
        dims: dims.len() as i32,
        contiguous: i32::from(contiguous),
        sizes,
        operands,
    }
}

fn does_not_broadcast<const N: usize>(op: &'static str, operands: &[Input<'_>; N]) -> Error {
    const NAMES: [&str; 5] = ["output", "first", "second", "third", "fourth"];
    let shapes = operands
        .iter()
        .zip(NAMES)
        .filter_map(|(operand, name)| Some((name, operand.tensor()?.layout().shape().clone())))
        .collect();
    Error::ShapeMismatch { op, shapes, rule: "the operands must broadcast to the output's shape" }
}
