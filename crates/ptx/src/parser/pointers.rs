//! Calls through pointers: each becomes a comparison of the pointer with every function that it may
//! point to, so that nothing behind the parser need know of them.
//!
//! A function's address is a number that only calls understand.

use super::Parser;
use super::function::Draft;
use crate::ast::{Function, Guard, Instruction, Module, Operand, Register, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::Token;
use crate::operation::{Callee, CompareForm, Comparison, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::{Pred, U64};

/// Functions' addresses are multiples of this, from one on: nothing lies there.
const ADDRESS_STEP: u64 = 16;

/// A call through a pointer, for which the function's body has an empty instruction.
pub(super) struct PointerCall {
    /// Indices in the module's functions and in its body.
    function: usize,
    at: usize,
    pointer: Operand,
    /// How many of the instruction's sources are arguments; the others are results.
    arguments: usize,
}

/// What calls through pointers need to know of a module that is being read.
#[derive(Default)]
pub(super) struct Pointers {
    calls: Vec<PointerCall>,
    /// The functions whose addresses are taken, and where.
    taken: Vec<(usize, Token)>,
}

impl Pointers {
    /// The registers that a function calls through.
    pub(super) fn of(&mut self, function: usize) -> impl Iterator<Item = &mut Operand> {
        let calls = self.calls.iter_mut().filter(move |call| call.function == function);
        calls.map(|call| &mut call.pointer)
    }
}

impl<'s> Parser<'s> {
    /// The address of a function that the text names.
    pub(super) fn function_address(&mut self, index: usize) -> Result<u64, Error> {
        if self.module.functions[index].is_kernel {
            let kind = ErrorKind::Unsupported("addresses of kernels");
            return Err(self.cursor.last_error(kind));
        }
        self.pointers.taken.push((index, self.cursor.last()));
        Ok(address(index))
    }

    /// A call through a pointer, whose instruction is the next of the body: its sources are the
    /// arguments, then the variables for the results.
    pub(super) fn add_pointer_call(
        &mut self,
        draft: &Draft<'_>,
        pointer: Operand,
        arguments: usize,
    ) {
        let (function, at) = (draft.index, draft.function.body.len());
        self.pointers.calls.push(PointerCall { function, at, pointer, arguments });
    }

    /// An instruction was put before all others of a function.
    pub(super) fn move_pointer_calls(&mut self, function: usize) {
        for call in self.pointers.calls.iter_mut().filter(|call| call.function == function) {
            call.at += 1;
        }
    }

    /// Puts the comparisons in place of the calls through pointers, once all functions are known.
    pub(super) fn resolve_pointers(&mut self) -> Result<(), Error> {
        let Pointers { calls, taken } = std::mem::take(&mut self.pointers);
        let mut candidates = Vec::new();
        for (index, token) in taken {
            if !self.module.functions[index].is_defined {
                let kind = ErrorKind::Unsupported("a function that the module does not define");
                let error = self.cursor.error_between(token, token, kind);
                self.note(error)?;
            } else if !candidates.contains(&index) {
                candidates.push(index);
            }
        }
        // From the last on, so that the places of the others stay.
        for call in calls.iter().rev() {
            if self.module.functions[call.function].body.len() > call.at {
                resolve(&mut self.module, call, &candidates);
            }
        }
        Ok(())
    }
}

fn address(function: usize) -> u64 {
    (function as u64 + 1) * ADDRESS_STEP
}

fn resolve(module: &mut Module, call: &PointerCall, candidates: &[usize]) {
    let place = &module.functions[call.function].body[call.at];
    let (guard, line, sources) = (place.guard, place.line, place.sources.clone());
    let fitting: Vec<usize> = candidates
        .iter()
        .copied()
        .filter(|&index| {
            let caller = &module.functions[call.function];
            let (arguments, results) = sources.split_at(call.arguments);
            let callee = &module.functions[index];
            fits(caller, arguments, callee, &callee.parameters)
                && fits(caller, results, callee, &callee.returns)
        })
        .collect();
    let function = &mut module.functions[call.function];
    let mut code = Vec::new();
    let instruction = |guard, operation, destinations: &[Option<Register>], sources: &[Operand]| {
        let (destinations, sources) = (destinations.into(), sources.into());
        Instruction { guard, operation, destinations, sources, line }
    };
    // Where control goes on is known once the code is as long as it gets.
    let end = function.targets.len();
    function.targets.push(0);
    let go_on = [Operand::Target(end)];
    if let Some(Guard { register, negated }) = guard {
        let skip = Some(Guard { register, negated: !negated });
        code.push(instruction(skip, Operation::Branch, &[], &go_on));
    }
    for callee in fitting {
        let form = CompareForm {
            comparison: Comparison::NotEqual,
            ty: U64,
            ftz: false,
            combine: None,
            result: Pred,
        };
        let other = Register(function.registers.len() as u32);
        function.registers.push(RegisterType::Predicate);
        let compared = [call.pointer, Operand::Immediate(address(callee))];
        code.push(instruction(None, Operation::Compare(form), &[Some(other), None], &compared));
        let next = function.targets.len();
        function.targets.push(call.at + code.len() + 3);
        let guard = Some(Guard { register: other, negated: false });
        code.push(instruction(guard, Operation::Branch, &[], &[Operand::Target(next)]));
        let operation = Operation::Call(Callee::Function(callee));
        code.push(instruction(None, operation, &[], &sources));
        code.push(instruction(None, Operation::Branch, &[], &go_on));
    }
    // The pointer points to no function of that kind.
    code.push(instruction(None, Operation::Trap, &[], &[]));
    let grown = code.len() - 1;
    for target in function.targets[..end].iter_mut().filter(|target| **target > call.at) {
        *target += grown;
    }
    function.targets[end] = call.at + code.len();
    function.body.splice(call.at..=call.at, code);
}

/// Whether variables of the caller have the sizes of the callee's.
fn fits(caller: &Function, own: &[Operand], callee: &Function, variables: &[usize]) -> bool {
    let bytes = |operand: &Operand| match *operand {
        Operand::Variable(VariableRef::Frame(index)) => Some(caller.variables[index].bytes),
        _ => None,
    };
    let expected = variables.iter().map(|&index| Some(callee.variables[index].bytes));
    own.iter().map(bytes).eq(expected)
}
