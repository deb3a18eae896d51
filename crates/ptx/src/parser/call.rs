//! Calls: of the module's functions, of those that the driver provides, and through pointers.

use super::branch::check_modifiers;
use super::cursor::Cursor;
use super::function_draft::FunctionDraft;
use super::module_draft::{ModuleDraft, Symbol};
use super::operand::OperandReader;
use crate::ast::{Function, Instruction, Operand, ThreadMemory, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::{Callee, Operation};

/// The target of a call through a pointer, whose instruction has the arguments, as many as that, and
/// then the variables for the results.
pub(super) struct IndirectTarget {
    pub(super) pointer: Operand,
    pub(super) arguments: usize,
}

/// Reads the operands of `call`. The sources are the arguments, then the variables for the results.
/// Returns the target if it is a register.
pub(super) fn read<'s>(
    cursor: &mut Cursor<'s>,
    function: &FunctionDraft<'s>,
    module: &mut ModuleDraft<'s>,
    text: &str,
    instruction: &mut Instruction,
) -> Result<Option<IndirectTarget>, Error> {
    check_modifiers(cursor, text, "call")?;
    let mut results = Vec::new();
    if cursor.at(b'(') {
        results = variables(cursor, function, module)?;
        cursor.comma()?;
    }
    let name = cursor.word()?;
    let callee_token = cursor.last();
    let index = match module.symbol(name) {
        Some(Symbol::Function(index)) => index,
        _ if function.register_named(name).is_some() => {
            return indirect(cursor, function, module, (name, results), instruction).map(Some);
        }
        _ => return Err(cursor.last_error(ErrorKind::Unknown("function"))),
    };
    let callee = callee(name, index, module.function(index));
    let callee = callee.map_err(|kind| cursor.last_error(kind))?;
    instruction.operation = Operation::Call(callee);
    if let Callee::Function(index) = callee {
        module.note_call(index, callee_token);
    }
    let mut arguments = Vec::new();
    if cursor.accept(b',') {
        arguments = variables(cursor, function, module)?;
    }
    let called = module.function(index);
    if !has_provided_parameters(callee, called) {
        let kind = ErrorKind::Unsupported("this declaration of the function");
        return Err(cursor.error_at(callee_token, kind));
    }
    // A module may be compiled for a declaration with a result, and be linked to a function without
    // one: the variable stays as it is. numba declares all functions with a result.
    if called.returns.is_empty() {
        results.clear();
    }
    if !matches(function, &arguments, called, &called.parameters)
        || !matches(function, &results, called, &called.returns)
    {
        let kind = ErrorKind::Operand("what the function takes and returns");
        return Err(cursor.error_between(callee_token, cursor.last(), kind));
    }
    instruction.sources = arguments.into_iter().chain(results).map(Operand::Variable).collect();
    Ok(None)
}

/// The target of a call of a function with that name.
fn callee(name: &str, index: usize, function: &Function) -> Result<Callee, ErrorKind> {
    match name {
        "vprintf" => Ok(Callee::Print),
        "__assertfail" => Ok(Callee::AssertFail),
        "malloc" if !function.is_defined => Ok(Callee::Allocate),
        "free" if !function.is_defined => Ok(Callee::Release),
        _ if function.is_kernel => Err(ErrorKind::Operand("a function")),
        _ => Ok(Callee::Function(index)),
    }
}

/// Whether the declaration of a function that the driver provides has the parameters that the
/// driver's has.
fn has_provided_parameters(callee: Callee, function: &Function) -> bool {
    let provided: &[usize] = match callee {
        Callee::Print => &[8, 8],
        Callee::AssertFail => &[8, 8, 4, 8, 8],
        Callee::Allocate | Callee::Release => &[8],
        Callee::Function(_) => return true,
    };
    let sizes = function.parameters.iter().map(|&at| function.variables[at].bytes);
    sizes.eq(provided.iter().copied())
}

/// Reads the rest of a call whose target is a register: arguments, and the name of a prototype or of
/// a list of functions, which say no more than the sizes of the variables do.
fn indirect<'s>(
    cursor: &mut Cursor<'s>,
    function: &FunctionDraft<'s>,
    module: &mut ModuleDraft<'s>,
    (name, results): (&str, Vec<VariableRef>),
    instruction: &mut Instruction,
) -> Result<IndirectTarget, Error> {
    let pointer = function.register_named(name);
    let pointer = pointer.filter(|&at| function.register_type(at).bits() == 64);
    let Some(pointer) = pointer else {
        return Err(cursor.last_error(ErrorKind::Operand("a 64-bit register")));
    };
    cursor.comma()?;
    let mut arguments = Vec::new();
    if cursor.at(b'(') {
        arguments = variables(cursor, function, module)?;
        cursor.comma()?;
    }
    cursor.word()?;
    let target = IndirectTarget { pointer: Operand::Register(pointer), arguments: arguments.len() };
    instruction.sources = arguments.into_iter().chain(results).map(Operand::Variable).collect();
    Ok(target)
}

/// Reads the arguments of a call, or the variables for its results, in parentheses.
fn variables<'s>(
    cursor: &mut Cursor<'s>,
    function: &FunctionDraft<'s>,
    module: &mut ModuleDraft<'s>,
) -> Result<Vec<VariableRef>, Error> {
    cursor.expect(b'(', "`(`")?;
    let mut variables = Vec::new();
    cursor.until_parenthesis(|cursor| {
        if cursor.peek().kind != TokenKind::Word {
            let kind = ErrorKind::Unsupported("arguments that are no .param variables");
            return Err(cursor.error(kind));
        }
        let name = cursor.word()?;
        match OperandReader::new(cursor, function, module).variable(name)? {
            variable @ VariableRef::Frame(_) => variables.push(variable),
            VariableRef::Module(_) => {
                return Err(cursor.last_error(ErrorKind::Operand("a .param variable")));
            }
        }
        Ok(())
    })?;
    Ok(variables)
}

/// Whether the variables fit those of the called function, in number and size.
fn matches(
    caller: &FunctionDraft<'_>,
    variables: &[VariableRef],
    called: &Function,
    expected: &[usize],
) -> bool {
    let fits = |(variable, &index): (&VariableRef, &usize)| match *variable {
        VariableRef::Frame(own) => {
            let own = caller.variable(own);
            own.memory == ThreadMemory::Frame && own.bytes == called.variables[index].bytes
        }
        VariableRef::Module(_) => false,
    };
    variables.len() == expected.len() && variables.iter().zip(expected).all(fits)
}
