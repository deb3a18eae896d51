//! Functions for which there is no instruction: nvcc's code for them, put where they are used.
//!
//! nvcc compiles `kernels/scalar.cu` to a `.func` for each primitive and type. Its body becomes a
//! block in braces, in which the names of its registers and labels hide others: parameters are
//! moves, and a return is a branch behind the block. What the body calls, and the tables that it
//! reads, the module contains as they are. An expression of very many functions calls them: drivers
//! take more than in proportion to compile an entry that is long.

use std::fmt::Write;

use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use crate::{ComputeType, Primitive};

/// The code of a primitive of values of a type; `None` if there is none.
fn find(primitive: Primitive, of: ComputeType) -> Option<(String, kernels::ScalarFunction)> {
    let name = format!("{}_{}", primitive.name(), of.dtype().short_name());
    let function = kernels::scalar_function(&name)?;
    Some((name, function))
}

/// The number of lines that a primitive of values of a type takes, if it is a function.
pub(super) fn lines(primitive: Primitive, of: ComputeType) -> usize {
    find(primitive, of).map_or(0, |(_, function)| function.text().lines().count())
}

/// Writes the code of a primitive, or a call of it; `None` if there is none.
pub(super) fn apply(
    w: &mut InstructionWriter,
    primitive: Primitive,
    of: ComputeType,
    operands: &[VirtualRegister],
) -> Option<VirtualRegister> {
    let (name, function) = find(primitive, of)?;
    if w.calls_functions {
        w.need(function.needs());
        w.need_called(function.item());
        return Some(call(w, &name, RegisterClass::of(of), operands));
    }
    let result = w.register(RegisterClass::of(of));
    let (_, body) = function.text().split_once("\n{\n")?;
    let body = body.trim_end().strip_suffix('}')?.trim_end();
    // A return at the end needs no branch.
    let body = body.strip_suffix("ret;").unwrap_or(body).trim_end();
    let end = body.contains("ret;").then(|| w.label("return"));
    let mut lines = format!("\t{{ // {name}\n");
    for line in body.lines() {
        let line = line.trim();
        let written = match moved(line, &name, operands, result) {
            Some(written) => written,
            None => match end {
                Some(end) if line.ends_with("ret;") => line.replace("ret;", &format!("bra {end};")),
                _ => line.to_owned(),
            },
        };
        // Writing to a string does not fail.
        let _ = writeln!(lines, "\t{written}");
    }
    lines += "\t}\n";
    w.verbatim(&lines);
    if let Some(end) = end {
        w.place(end);
    }
    w.need(function.needs());
    Some(result)
}

/// Writes a call of a function, as nvcc writes it.
fn call(
    w: &mut InstructionWriter,
    name: &str,
    class: RegisterClass,
    operands: &[VirtualRegister],
) -> VirtualRegister {
    let result = w.register(class);
    let mut lines = String::from("\t{\n");
    // Writing to a string does not fail.
    for (number, operand) in operands.iter().enumerate() {
        let (bits, suffix) = (operand.class.bits(), operand.class.suffix());
        let _ = writeln!(lines, "\t.param .b{bits} operand{number};");
        let _ = writeln!(lines, "\tst.param.{suffix} \t[operand{number}+0], {operand};");
    }
    let list: Vec<String> = (0..operands.len()).map(|number| format!("operand{number}")).collect();
    let (bits, suffix) = (class.bits(), class.suffix());
    let _ = writeln!(lines, "\t.param .b{bits} result;");
    let _ = writeln!(lines, "\tcall.uni (result), {name}, ({});", list.join(", "));
    let _ = writeln!(lines, "\tld.param.{suffix} \t{result}, [result+0];\n\t}}");
    w.verbatim(&lines);
    result
}

/// A line that reads a parameter of the function or writes its result, as a move.
fn moved(
    line: &str,
    name: &str,
    operands: &[VirtualRegister],
    result: VirtualRegister,
) -> Option<String> {
    let read = format!("[{name}_param_");
    if let Some((load, place)) = line.split_once(&read) {
        let register = load.split_whitespace().nth(1)?;
        let number: usize = place.trim_end_matches("];").parse().ok()?;
        let operand = operands[number];
        return Some(format!("{} {register} {operand};", move_of(operand.class)));
    }
    let (_, value) = line.split_once("[func_retval0+0], ")?;
    Some(format!("{} {result}, {value}", move_of(result.class)))
}

fn move_of(class: RegisterClass) -> String {
    format!("mov.{}", class.suffix())
}
