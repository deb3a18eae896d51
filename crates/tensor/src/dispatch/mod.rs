//! The one dispatch point: an operation is data, and its call runs where its operands lie.

pub(crate) mod abi;
mod captured;
mod check;
mod cuda;
mod elementwise;
mod family;
mod fill;
mod host;
mod index;
mod matmul;
mod operands;
mod plan;
mod reduce;
mod rows;
mod transfer;

use std::ops::Range;

pub(crate) use check::{place_of, same_place};
pub(crate) use elementwise::{Input, elementwise};
use family::Family;
pub(crate) use fill::{random, range};
pub(crate) use index::{IndexCall, indexed};
pub(crate) use matmul::matmul;
use operands::Operands;
pub(crate) use reduce::{reduce, reduced_shape};
pub(crate) use rows::rows;
pub use transfer::Blocking;
pub(crate) use transfer::transfer;

use crate::placement::Place;
use crate::{DType, Error, Result};

/// The CPU's kernel: does the given units of the call's work.
///
/// # Safety
/// The addresses in the call are those of host memory which holds the operands that the family's
/// struct describes, of the dtypes that the operation has; nobody else writes them, nor reads what
/// the call writes; the range lies within the call's units.
pub(crate) type HostKernel<P> = unsafe fn(&P, Range<usize>);

/// What the kernels of an operation are: a name, and the CPU's kernel for each dtype that it has.
/// The CUDA kernel is the entry `{name}_{dtype}` of the crate `kernels`.
pub(crate) struct Operation<P: 'static> {
    name: &'static str,
    /// The dtypes of the operands, where not all are the operation's.
    signature: Signature,
    host: fn(DType) -> Option<HostKernel<P>>,
    /// What the CPU finds wrong with a call before it runs; CUDA kernels assert on the device.
    check: unsafe fn(&'static str, &P) -> Result<()>,
    kernels: cuda::KernelTable,
}

/// Which of an operation's operands have which dtype; operand 0 is the output.
#[derive(Clone, Copy)]
pub(crate) enum Signature {
    /// All have the operation's dtype.
    Same,
    /// The output is of this dtype, the others of the operation's.
    Gives(DType),
    /// Operand 1 is `Bool`, the others of the operation's dtype.
    Selects,
    /// The output is of the operation's dtype, the input of this one.
    Converts(DType),
}

impl<P: 'static> Operation<P> {
    pub(crate) const fn new(
        name: &'static str,
        host: fn(DType) -> Option<HostKernel<P>>,
    ) -> Operation<P> {
        Operation {
            name,
            signature: Signature::Same,
            host,
            check: accept,
            kernels: cuda::KernelTable::new(),
        }
    }

    pub(crate) const fn with_signature(mut self, signature: Signature) -> Operation<P> {
        self.signature = signature;
        self
    }

    const fn with_check(mut self, check: unsafe fn(&'static str, &P) -> Result<()>) -> Self {
        self.check = check;
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn signature(&self) -> Signature {
        self.signature
    }

    /// The dtype of operand `position` when the operation is run for `dtype`.
    pub(crate) fn operand_dtype(&self, dtype: DType, position: usize) -> DType {
        match self.signature {
            Signature::Gives(output) if position == 0 => output,
            Signature::Selects if position == 1 => DType::Bool,
            Signature::Converts(from) if position == 1 => from,
            _ => dtype,
        }
    }

    /// Whether the operation exists for `dtype`, on either backend.
    pub(crate) fn supports(&self, dtype: DType) -> bool {
        (self.host)(dtype).is_some()
    }
}

impl<P: Family> Operation<P> {
    /// Runs the call at the operands' place: on the CPU before it returns, on CUDA in the order of the
    /// device's current stream, after the work on other streams that the accesses must come after.
    ///
    /// # Errors
    /// The operation has no such dtype; the runtime failed; on the CPU also what `check` finds.
    ///
    /// # Safety
    /// The addresses in the call are `operands`' own or lie in their memory, all reachable from the
    /// place, and are what the family's struct and the operation's signature say for `dtype`.
    #[track_caller]
    unsafe fn run(&'static self, dtype: DType, operands: &Operands<'_>, call: &P) -> Result<()> {
        let op = self.name;
        let kernel = (self.host)(dtype).ok_or_else(|| Error::UnsupportedDType {
            op,
            dtype,
            device: operands.place.device(),
        })?;
        match operands.place {
            // SAFETY: the addresses are what the caller promises, and the operands are held.
            Place::Cpu => unsafe { host::run(op, kernel, self.check, call) },
            // SAFETY: the addresses are what the caller promises; the use records keep the order.
            Place::Cuda(device) => unsafe {
                cuda::launch(op, &self.kernels, dtype, device, operands.tensors, call)
            },
        }
    }
}

/// The check of an operation for which the dispatch has checked everything.
unsafe fn accept<P>(_op: &'static str, _call: &P) -> Result<()> {
    Ok(())
}
