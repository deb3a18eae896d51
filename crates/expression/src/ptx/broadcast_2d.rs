//! Kernels over rows, in which operands are dense or repeated.

use std::mem::offset_of;

use super::arguments::Broadcast2dArguments;
use super::body::{StoredExpression, base_addresses, parameter};
use super::error::PrintError;
use super::layout_class::RepeatedOperands;
use super::line::{GridThreads, Line};
use super::writer::{InstructionWriter, VirtualRegister};

/// Writes a kernel over rows and columns, which the threads of the grid's dimensions `y` and `x`
/// share, and says how many elements of a row a thread computes at once. What is the same in a
/// whole row is computed once for it. There is no division.
pub(super) fn write(
    w: &mut InstructionWriter,
    operands: &StoredExpression<'_>,
    repeated: RepeatedOperands,
) -> Result<usize, PrintError> {
    let known = operands.invariants(w, offset_of!(Broadcast2dArguments, scalars))?;
    let rows = parameter(w, offset_of!(Broadcast2dArguments, rows));
    let length = parameter(w, offset_of!(Broadcast2dArguments, columns));
    let bases = base_addresses(w, operands, offset_of!(Broadcast2dArguments, addresses));
    let row_bytes = row_bytes(w, operands, &bases);
    let dense = operands.dtypes().enumerate().filter(|&(number, _)| !repeated.contains(number));
    let group = operands.elements_at_once(dense.map(|(_, dtype)| dtype));
    let line = Line { operands, length, group, threads: GridThreads::along(w, 'x') };
    let is_unaligned = {
        let used = (0..operands.len()).filter(|&number| !repeated.contains(number));
        let numbers =
            used.flat_map(|number| [bases[number], row_bytes[number]].map(|n| (number, n)));
        let numbers: Vec<_> = numbers.filter_map(|(number, n)| Some((number, n?))).collect();
        line.is_unaligned(w, &numbers)
    };

    let (start, end) = (w.label("rows"), w.label("rows_done"));
    let of_rows = GridThreads::along(w, 'y');
    let row = of_rows.counter(w);
    let is_past = w.predicate("setp.ge.u64", &[&row, &rows]);
    w.branch_if(is_past, end);
    w.place(start);
    let at_row: Vec<_> = bases
        .iter()
        .zip(&row_bytes)
        .map(|(base, bytes)| Some(w.b64("mad.lo.s64", &[&row, &(*bytes)?, &(*base)?])))
        .collect();
    let only = |is_repeated: bool| -> Vec<Option<VirtualRegister>> {
        let of = |(number, address): (usize, &Option<VirtualRegister>)| {
            address.filter(|_| repeated.contains(number) == is_repeated)
        };
        at_row.iter().enumerate().map(of).collect()
    };
    let known = operands.row_invariants(w, &known, &only(true))?;
    line.write(w, &known, &only(false), is_unaligned)?;
    of_rows.step(w, row, rows, start);
    w.place(end);
    w.line("ret");
    Ok(group)
}

/// The distance in bytes from one row of each operand to the next.
fn row_bytes(
    w: &mut InstructionWriter,
    operands: &StoredExpression<'_>,
    bases: &[Option<VirtualRegister>],
) -> Vec<Option<VirtualRegister>> {
    let of_operand = |(number, dtype): (usize, crate::DType)| {
        bases[number]?;
        let stride = parameter(w, offset_of!(Broadcast2dArguments, row_strides) + 8 * number);
        Some(w.b64("shl.b64", &[&stride, &dtype.size().trailing_zeros()]))
    };
    operands.dtypes().enumerate().map(of_operand).collect()
}
