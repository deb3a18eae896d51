//! What a module may ask for at most, as ptxas has it: what is refused on every GPU is refused here.

use ptx::{Error, ErrorKind, Module, StateSpace};

use crate::ir::KernelSummary;

/// The shared memory that a kernel can declare with a size; beyond that it is for the launch to ask
/// for (CUDA C++ Programming Guide, technical specifications per compute capability).
pub const MAX_STATIC_SHARED_BYTES: usize = 48 << 10;

/// The constant memory of a module (there, too).
const MAX_CONSTANT_BYTES: usize = 64 << 10;

/// The local memory of a thread (there, too).
const MAX_LOCAL_BYTES: usize = 512 << 10;

/// Checks the sizes of a module's memory.
///
/// # Errors
///
/// The first kernel, or else the module, that asks for too much.
pub(super) fn check(module: &Module, kernels: &[KernelSummary]) -> Result<(), Error> {
    for kernel in kernels {
        let line = module.functions[kernel.function].body.first().map_or(1, |first| first.line);
        let error = |kind| Error { line, column: 1, text: format!(".entry {}", kernel.name), kind };
        within("shared memory", kernel.static_shared_bytes, MAX_STATIC_SHARED_BYTES)
            .map_err(error)?;
        within("local memory", kernel.local_bytes, MAX_LOCAL_BYTES).map_err(error)?;
    }
    let constants = module.variables.iter().filter(|at| at.space == StateSpace::Const);
    let end = constants.fold(0_usize, |end, at| end.next_multiple_of(at.align) + at.bytes);
    let error = |kind| Error { line: 1, column: 1, text: ".const".to_owned(), kind };
    within("constant memory", end, MAX_CONSTANT_BYTES).map_err(error)
}

fn within(what: &'static str, bytes: usize, most: usize) -> Result<(), ErrorKind> {
    if bytes <= most { Ok(()) } else { Err(ErrorKind::TooMuch { what, bytes, most }) }
}
