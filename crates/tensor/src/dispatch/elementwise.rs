//! Calls of elementwise operations: any shapes that broadcast, any strides, numbers in between.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{Elementwise, MAX_DIMS, Operand};
use super::plan::{Dim, Plan};
use super::{Operands, Operation};
use crate::layout::Layout;
use crate::placement::Place;
use crate::{DType, Error, Result, Tensor};

/// An operand of an elementwise operation.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// A tensor of the dtype that the operation's signature asks for here.
    Tensor(&'a Tensor),
    /// The same, as an output that was made for the call: nobody else knows of it.
    New(&'a Tensor),
    /// The bits of one value of that dtype, for every element.
    Immediate(u64),
}

impl<'a> Input<'a> {
    fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Input::Tensor(tensor) | Input::New(tensor) => Some(tensor),
            Input::Immediate(_) => None,
        }
    }
}

/// Runs `operation` for `dtype` at `place`: writes `operands[0]`, a tensor, from the others.
///
/// # Errors
/// An operand does not broadcast to the output's shape; the output repeats elements; the operation
/// has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn elementwise<const N: usize>(
    operation: &'static Operation<Elementwise<N>>,
    dtype: DType,
    place: Place,
    operands: [Input<'_>; N],
) -> Result<()> {
    let op = operation.name();
    let layouts = operands.map(|operand| operand.tensor().map(Tensor::layout));
    let Some(plan) = Plan::new(layouts) else { return Err(does_not_broadcast(op, &operands)) };
    let mut tensors: SmallVec<[(&Tensor, Access); 6]> = SmallVec::new();
    for (position, operand) in operands.iter().enumerate() {
        if let Some(tensor) = operand.tensor() {
            let expected = operation.operand_dtype(dtype, position);
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
    if plan.dims.iter().any(|dim| dim.size == 0) {
        return Ok(());
    }
    let held = match operands[0] {
        Input::New(_) => Operands::hold_for_new(op, place, &tensors)?,
        _ => Operands::hold(op, place, &tensors)?,
    };
    let mut call_operands = [Operand::default(); N];
    let mut addresses = (0..tensors.len()).map(|position| held.address(position));
    for (operand, call) in operands.iter().zip(&mut call_operands) {
        match operand {
            Input::Immediate(bits) => call.immediate = *bits,
            Input::Tensor(_) | Input::New(_) => {
                call.data = addresses.next().expect("each tensor is held")
            }
        }
    }
    Calls { operation, dtype, held: &held }.run(&plan.dims, call_operands)
}

/// What the calls that one operation may fall apart into have in common.
struct Calls<'a, 'tensors, const N: usize> {
    operation: &'static Operation<Elementwise<N>>,
    dtype: DType,
    held: &'a Operands<'tensors>,
}

impl<const N: usize> Calls<'_, '_, N> {
    /// One call, or where there are too many dimensions one for each index of the outermost.
    #[track_caller]
    fn run(&self, dims: &[Dim<N>], operands: [Operand; N]) -> Result<()> {
        if dims.len() <= MAX_DIMS {
            let call = call(dims, operands);
            // SAFETY: each operand is a tensor of the dtype that the signature asks for (asserted
            // above), whose layout lies inside its storage; the plan goes through that layout.
            return unsafe { self.operation.run(self.dtype, self.held, &call) };
        }
        let (outermost, inner) = dims.split_first().expect("there are more than MAX_DIMS");
        for index in 0..outermost.size {
            let mut at = operands;
            for (position, operand) in at.iter_mut().enumerate().filter(|(_, o)| o.data != 0) {
                let bytes = self.operation.operand_dtype(self.dtype, position).size() as isize;
                let moved = index as isize * outermost.strides[position] * bytes;
                operand.data = operand.data.wrapping_add_signed(moved as i64);
            }
            self.run(inner, at)?;
        }
        Ok(())
    }
}

fn call<const N: usize>(dims: &[Dim<N>], mut operands: [Operand; N]) -> Elementwise<N> {
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
