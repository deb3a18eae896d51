//! Calls of elementwise functions: an expression with the dtypes of its operands, run over tensors
//! of any shapes that broadcast and of any strides.

use std::sync::OnceLock;

use cpu_kernels::{DensePointer, Program, StridedPointer};
use expression::Expression;
use gpu_runtime::Access;
use smallvec::SmallVec;

use super::Operands;
use super::iteration_space::IterationSpace;
use super::operands::address;
use super::printed::{Printable, PrintedKernels};
use crate::access::hold_to_read;
use crate::layout::Layout;
use crate::resolved_device::ResolvedDevice;
use crate::storage::{HostMemory, PageableStorage};
use crate::{DType, Error, Result, Tensor};

/// An elementwise function for tensors of given dtypes: an expression, which is compiled for the
/// CPU and for each CUDA device when it is first run there. It lives as long as the process, as
/// kernels do.
pub(crate) struct Elementwise {
    op: &'static str,
    expression: Expression,
    inputs: SmallVec<[DType; 4]>,
    outputs: SmallVec<[DType; 2]>,
    program: OnceLock<Program>,
    kernels: PrintedKernels,
}

/// The tensors that a call writes.
#[derive(Clone, Copy)]
pub(crate) enum Outputs<'a> {
    /// Made for this call: nobody else knows of their memory, so they need no lock.
    New(&'a [Tensor]),
    /// Tensors that were there before, which do not share memory with each other.
    Existing(&'a [Tensor]),
}

impl<'a> Outputs<'a> {
    fn tensors(self) -> &'a [Tensor] {
        match self {
            Outputs::New(tensors) | Outputs::Existing(tensors) => tensors,
        }
    }
}

/// The tensors of a call with their accesses, the outputs first.
type Accesses<'a> = SmallVec<[(&'a Tensor, Access); 6]>;

impl Elementwise {
    /// The function for these dtypes in memory, whose compute types must be those of the
    /// expression.
    pub(crate) fn new(
        op: &'static str,
        expression: Expression,
        inputs: &[DType],
        outputs: &[DType],
    ) -> Elementwise {
        Elementwise {
            op,
            expression,
            inputs: inputs.into(),
            outputs: outputs.into(),
            program: OnceLock::new(),
            kernels: PrintedKernels::new(),
        }
    }

    /// The operation's name, for errors.
    pub(crate) fn op(&self) -> &'static str {
        self.op
    }

    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The dtypes of the inputs in memory.
    pub(crate) fn inputs(&self) -> &[DType] {
        &self.inputs
    }

    /// The dtypes of the outputs in memory.
    pub(crate) fn outputs(&self) -> &[DType] {
        &self.outputs
    }

    /// Writes the outputs, which have one shape that the inputs broadcast to. `scalars` are the
    /// bits of values of the expression's scalar types. On the CPU it is done when this returns; on
    /// CUDA it is enqueued on the device's current stream.
    ///
    /// An input that shares memory with an output must be exactly that output.
    ///
    /// # Errors
    /// An input does not broadcast to the outputs' shape; an output repeats elements; the runtime
    /// failed.
    #[track_caller]
    pub(crate) fn run(
        &self,
        device: ResolvedDevice,
        outputs: Outputs<'_>,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<()> {
        let written = outputs.tensors();
        self.expect_dtypes(written, inputs);
        let tensors: Accesses<'_> = written
            .iter()
            .map(|tensor| (tensor, Access::Write))
            .chain(inputs.iter().map(|&tensor| (tensor, Access::Read)))
            .collect();
        let layouts: SmallVec<[&Layout; 6]> =
            tensors.iter().map(|(tensor, _)| tensor.layout()).collect();
        let Some(space) = IterationSpace::new(&layouts) else {
            return Err(self.does_not_broadcast(&tensors));
        };
        if let Outputs::Existing(tensors) = outputs
            && let Some(tensor) = tensors.iter().find(|tensor| tensor.layout().overlaps_itself())
        {
            return Err(self.repeats_elements(tensor));
        }
        if space.is_empty() {
            return Ok(());
        }
        let held = match outputs {
            Outputs::New(_) => {
                Operands::hold_for_outputs(self.op, device, &tensors, written.len())?
            }
            Outputs::Existing(_) => Operands::hold(self.op, device, &tensors)?,
        };
        match device {
            ResolvedDevice::Cpu => {
                self.run_on_host(&space, &held, written.len(), scalars);
                Ok(())
            }
            // SAFETY: the operands are tensors of the dtypes that the kernel was printed for
            // (checked above), whose layouts lie inside their storages; the sizes and strides are
            // those of the layouts, and the scalars are as many as the expression has.
            ResolvedDevice::Cuda(device) => unsafe {
                let printable = Printable {
                    op: self.op,
                    expression: &self.expression,
                    inputs: &self.inputs,
                    outputs: &self.outputs,
                };
                self.kernels.run(printable, device, &held, &space, scalars)
            },
        }
    }

    /// The one output for one or two inputs of one shape on the CPU, of which one is dense, and the
    /// other, too, or one element that is repeated. `None` if it is not as simple as that: also for
    /// what is run for the first time, for page-locked memory, and for memory with a copy due.
    /// [`Elementwise::run`] is for everything.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub(crate) fn run_dense(&self, inputs: &[&Tensor], scalars: &[u64]) -> Option<Result<Tensor>> {
        let (program, &[dtype]) = (self.program.get()?, &self.outputs[..]) else { return None };
        let (&first, &last) = (inputs.first()?, inputs.last()?);
        if inputs.len() > 2 || first.shape() != last.shape() {
            return None;
        }
        let (a, b) = (DenseOperand::new(first)?, DenseOperand::new(last)?);
        let dense = match (a.is_repeated, b.is_repeated) {
            (false, _) => first,
            (true, false) => last,
            (true, true) => return None,
        };
        let output = match Tensor::uninit_like(dense, dtype) {
            Ok(output) => output,
            Err(error) => return Some(Err(error)),
        };
        let _held = hold_to_read(a.memory, b.memory)?;
        self.expect_dtypes(std::slice::from_ref(&output), inputs);
        let pointers = [a.pointer(), b.pointer()];
        let (numel, pointers) = (output.numel(), &pointers[..inputs.len()]);
        // SAFETY: the inputs are tensors of the dtypes that the program was made for, as dense as the
        // pointers say, and of the output's shape (all checked above), and their memory is held; the
        // output was just made.
        unsafe { program.run_contiguous(numel, &[start_of(&output)], pointers, scalars) };
        Some(Ok(output))
    }

    /// Writes the result of a function of numbers alone into a dense tensor on the CPU that is new, so
    /// that nobody else has it and no lock is needed. `false` if it is not such a tensor, or nothing
    /// was run yet.
    pub(crate) fn fill_dense(&self, output: &Tensor, scalars: &[u64]) -> bool {
        let Some(program) = self.program.get() else { return false };
        if DenseOperand::new(output).is_none_or(|output| output.is_repeated) {
            return false;
        }
        self.expect_dtypes(std::slice::from_ref(output), &[]);
        // SAFETY: the output is of the dtype that the program was made for (checked above), dense,
        // and nobody else's.
        unsafe { program.run_contiguous(output.numel(), &[start_of(output)], &[], scalars) };
        true
    }

    /// Runs the program over memory of the host, which is held.
    fn run_on_host(
        &self,
        space: &IterationSpace,
        held: &Operands<'_>,
        outputs: usize,
        scalars: &[u64],
    ) {
        let program = self
            .program
            .get_or_init(|| Program::new(&self.expression, &self.inputs, &self.outputs));
        let pointers: SmallVec<[StridedPointer<'_>; 6]> = (0..held.tensors.len())
            .map(|operand| StridedPointer {
                start: std::ptr::with_exposed_provenance_mut(held.address(operand) as usize),
                strides: space.strides(operand),
            })
            .collect();
        let (outputs, inputs) = pointers.split_at(outputs);
        // SAFETY: the addresses are those of tensors whose memory `held` holds, of the dtypes that
        // the program was made for (checked by `run`); their layouts, from which the sizes and
        // strides follow, lie inside their storages. An output repeats no element (checked by
        // `run`), and shares memory with an input only if the two are one (a condition of `run`,
        // which `ops::pointwise` sees to by copies).
        unsafe { program.run(space.sizes(), outputs, inputs, scalars) }
    }

    /// # Panics
    /// A tensor is not of the dtype that the function takes there: the caller's bug.
    fn expect_dtypes(&self, outputs: &[Tensor], inputs: &[&Tensor]) {
        let fits = outputs.len() == self.outputs.len()
            && inputs.len() == self.inputs.len()
            && outputs.iter().zip(&self.outputs).all(|(tensor, &dtype)| tensor.dtype() == dtype)
            && inputs.iter().zip(&self.inputs).all(|(tensor, &dtype)| tensor.dtype() == dtype);
        assert!(fits, "{}: the operands are not of the function's dtypes", self.op);
    }

    fn does_not_broadcast(&self, tensors: &Accesses<'_>) -> Error {
        const NAMES: [&str; 6] = ["output", "first", "second", "third", "fourth", "fifth"];
        let shapes = tensors.iter().zip(NAMES);
        let shapes = shapes.map(|((tensor, _), name)| (name, tensor.layout().shape().clone()));
        Error::ShapeMismatch {
            op: self.op,
            shapes: shapes.collect(),
            rule: "the operands must broadcast to the output's shape",
        }
    }

    fn repeats_elements(&self, output: &Tensor) -> Error {
        Error::InvalidArgument {
            op: self.op,
            argument: "self",
            value: format!("a tensor with strides {:?}", output.strides()),
            why: "its elements share memory (expand), so each cannot be written; use contiguous()",
        }
    }
}

/// An operand in pageable memory whose elements lie one after the other, or are all the same one.
struct DenseOperand<'a> {
    memory: &'a PageableStorage,
    /// The position of the first element in the memory, in bytes.
    offset: usize,
    is_repeated: bool,
}

impl<'a> DenseOperand<'a> {
    /// `None` for a tensor that is no such operand.
    #[inline]
    fn new(tensor: &'a Tensor) -> Option<DenseOperand<'a>> {
        let HostMemory::Pageable(memory) = tensor.storage().host()? else { return None };
        let is_repeated = !tensor.is_contiguous();
        let mut dims = tensor.shape().iter().zip(tensor.strides());
        if is_repeated && !dims.all(|(&size, &stride)| size == 1 || stride == 0) {
            return None;
        }
        let offset = tensor.offset() * tensor.dtype().size();
        Some(DenseOperand { memory, offset, is_repeated })
    }

    /// The address, which is valid while the memory is held.
    #[inline]
    fn pointer(&self) -> DensePointer {
        let start = self.memory.start().wrapping_add(self.offset);
        match self.is_repeated {
            true => DensePointer::repeated(start),
            false => DensePointer::new(start),
        }
    }
}

/// The address of a tensor's first element, to be read or written through.
fn start_of(tensor: &Tensor) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address(tensor) as usize)
}
