//! Kernels: an expression over operands in memory as a module of PTX.

use std::fmt::Write;
use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::arguments::{
    Broadcast2dArguments, DenseArguments, MAX_DIMS, MAX_INPUTS, MAX_OUTPUTS, MAX_SCALARS,
    StridedArguments,
};
use super::body::{ARGUMENT, StoredExpression};
use super::error::PrintError;
use super::layout_class::LayoutClass;
use super::writer::InstructionWriter;
use super::{broadcast_2d, dense, strided};
use crate::{ComputeType, DType, Expression};

/// The most threads of a block that a kernel is launched with.
const MAX_THREADS: u32 = 1024;
/// The most lines of functions that are put in place.
const MAX_LINES_IN_PLACE: usize = 2000;
/// The beginning of a module, the same as in the PTX of `kernels/`: drivers of CUDA 10 on read it, and GPUs of compute
/// capability 7.5 on run it.
const HEADER: &str = ".version 6.3\n.target sm_75\n.address_size 64\n";

/// A kernel that is to be printed.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec<'a> {
    /// The operation, which the name of the entry begins with: letters, digits and `_`.
    pub name: Option<&'a str>,
    /// The function of each element.
    pub expression: &'a Expression,
    /// The dtypes of the inputs in memory.
    pub inputs: &'a [DType],
    /// The dtypes of the outputs in memory.
    pub outputs: &'a [DType],
    /// The layout of the operands.
    pub layout: LayoutClass,
}

/// A kernel as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedKernel {
    /// The name of the module's one entry. It is different for different kernels.
    pub entry: String,
    /// The module.
    pub text: String,
    /// The number of elements that a thread computes at once. A launch has as many threads as
    /// there are groups of this size, or fewer, in blocks of at most 1024. Blocks and grid are
    /// one-dimensional, but for [`LayoutClass::Broadcast2d`], whose rows go along `y`
    /// ([`Broadcast2dArguments::launch_shape`]).
    pub elements_per_thread: usize,
}

/// The PTX of a kernel.
///
/// # Errors
/// Operands do not fit the expression or the argument, or there is no code for a function; see
/// [`PrintError`].
pub fn print(spec: &KernelSpec<'_>) -> Result<PrintedKernel, PrintError> {
    let KernelSpec { expression, inputs, outputs, layout, .. } = *spec;
    check(spec)?;
    let operands = StoredExpression { expression, inputs, outputs };
    let mut w = InstructionWriter::default();
    w.calls_functions = operands.function_lines() > MAX_LINES_IN_PLACE;
    let (bytes, elements_per_thread) = match layout {
        LayoutClass::Dense => (size_of::<DenseArguments>(), dense::write(&mut w, &operands)?),
        LayoutClass::Broadcast2d { repeated } => {
            let elements = broadcast_2d::write(&mut w, &operands, repeated)?;
            (size_of::<Broadcast2dArguments>(), elements)
        }
        LayoutClass::Strided { dims, wide } => {
            strided::write(&mut w, &operands, dims, wide)?;
            (size_of::<StridedArguments>(), 1)
        }
    };
    let mut text = HEADER.to_owned();
    for item in w.needed_items() {
        text += kernels::scalar_item(item);
    }
    let body = w.finish();
    let entry = entry_name(spec, &body);
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "\n.visible .entry {entry}(\n\t.param .align 8 .b8 {ARGUMENT}[{bytes}]\n)\n\
         .maxntid {MAX_THREADS}, 1, 1\n{{\n{body}}}\n"
    );
    Ok(PrintedKernel { entry, text, elements_per_thread })
}

/// The operation, the dtypes of inputs and outputs, the layout, and a hash of the body.
fn entry_name(spec: &KernelSpec<'_>, body: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let mut name: String = spec.name.unwrap_or_default().chars().filter(is_plain).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "fused_");
    }
    let name = name.trim_end_matches('_');
    let dtypes = spec.inputs.iter().chain(spec.outputs);
    let dtypes = dtypes.fold(String::new(), |list, dtype| list + "_" + dtype.short_name());
    let mut hasher = FxHasher::default();
    hasher.write(body.as_bytes());
    format!("{name}{dtypes}_{}_{:016x}", spec.layout, hasher.finish())
}

fn check(spec: &KernelSpec<'_>) -> Result<(), PrintError> {
    let expression = spec.expression;
    let results: Vec<ComputeType> =
        expression.outputs().iter().map(|&value| expression.type_of(value)).collect();
    let scalars = expression.scalars().len();
    if scalars > MAX_SCALARS {
        return Err(PrintError::TooMany { what: "scalars", given: scalars, max: MAX_SCALARS });
    }
    check_operands(["input", "inputs"], expression.inputs(), spec.inputs, MAX_INPUTS)?;
    check_operands(["output", "outputs"], &results, spec.outputs, MAX_OUTPUTS)?;
    match spec.layout {
        LayoutClass::Broadcast2d { repeated } => {
            match (0..spec.outputs.len()).find(|&number| repeated.contains(number)) {
                Some(number) => Err(PrintError::RepeatedOutput { number }),
                None => Ok(()),
            }
        }
        LayoutClass::Strided { dims, .. } if !(1..=MAX_DIMS).contains(&dims) => {
            Err(PrintError::Dimensions { given: dims, max: MAX_DIMS })
        }
        _ => Ok(()),
    }
}

fn check_operands(
    [one, several]: [&'static str; 2],
    types: &[ComputeType],
    dtypes: &[DType],
    max: usize,
) -> Result<(), PrintError> {
    if types.len() > max {
        return Err(PrintError::TooMany { what: several, given: types.len(), max });
    }
    if types.len() != dtypes.len() {
        let (expected, given) = (types.len(), dtypes.len());
        return Err(PrintError::Count { what: several, expected, given });
    }
    for (number, (&expected, &dtype)) in types.iter().zip(dtypes).enumerate() {
        let given = dtype.compute_type();
        if given != expected {
            return Err(PrintError::Type { what: one, number, dtype, expected, given });
        }
    }
    Ok(())
}
