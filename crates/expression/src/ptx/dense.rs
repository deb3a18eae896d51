//! Kernels over dense operands.

use std::mem::offset_of;

use super::arguments::DenseArguments;
use super::body::{StoredExpression, base_addresses, parameter};
use super::error::PrintError;
use super::line::{GridThreads, Line};
use super::writer::InstructionWriter;

/// Writes a kernel over dense operands, and says how many elements a thread computes at once.
pub(super) fn write(
    w: &mut InstructionWriter,
    operands: &StoredExpression<'_>,
) -> Result<usize, PrintError> {
    let known = operands.invariants(w, offset_of!(DenseArguments, scalars))?;
    let length = parameter(w, offset_of!(DenseArguments, numel));
    let bases = base_addresses(w, operands, offset_of!(DenseArguments, addresses));
    let group = operands.elements_at_once(operands.dtypes());
    let line = Line { operands, length, group, threads: GridThreads::along(w, 'x') };
    let addresses: Vec<_> =
        bases.iter().enumerate().filter_map(|(number, base)| Some((number, (*base)?))).collect();
    let is_unaligned = line.is_unaligned(w, &addresses);
    line.write(w, &known, &bases, is_unaligned)?;
    w.line("ret");
    Ok(group)
}
