//! Calls through pointers: each becomes a comparison of the pointer with every function that it may
//! point to, so that nothing behind the parser need know of them. LLVM calls this the promotion of
//! indirect calls.
//!
//! A function's address is a number that only calls understand.

use crate::ast::{Function, Guard, Instruction, Module, Operand, Register, VariableRef};
use crate::operation::{Callee, CompareForm, Comparison, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::U64;

/// Functions' addresses are multiples of this, from one on: nothing lies there.
const ADDRESS_STEP: u64 = 16;

/// A call through a pointer, for which the function's body has an empty instruction with the
/// arguments and results as its sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndirectCall {
    /// Index of the instruction in the function's body.
    pub(super) at: usize,
    pub(super) pointer: Operand,
    /// The number of the instruction's sources that are arguments; the others are results.
    pub(super) arguments: usize,
}

/// The address of a function, of which the index in the module is given.
pub(super) fn address(function: usize) -> u64 {
    (function as u64 + 1) * ADDRESS_STEP
}

/// Puts comparisons and direct calls in place of an indirect call in a function. `targets` are the
/// functions whose addresses are taken anywhere in the module.
pub(super) fn resolve(
    module: &mut Module,
    function: usize,
    call: &IndirectCall,
    targets: &[usize],
) {
    let caller = &module.functions[function];
    let instruction = caller.body[call.at].clone();
    let fits = |&callee: &usize| {
        let (arguments, results) = instruction.sources.split_at(call.arguments);
        let callee = &module.functions[callee];
        have_sizes(caller, arguments, callee, &callee.parameters)
            && have_sizes(caller, results, callee, &callee.returns)
    };
    let callees: Vec<usize> = targets.iter().copied().filter(fits).collect();
    let caller = &mut module.functions[function];
    // Where control goes on is known once the code is as long as it gets.
    let end = caller.targets.len();
    caller.targets.push(0);
    let code = comparisons(caller, call, &instruction, &callees, end);
    let grown = code.len() - 1;
    for target in caller.targets[..end].iter_mut().filter(|target| **target > call.at) {
        *target += grown;
    }
    caller.targets[end] = call.at + code.len();
    caller.body.splice(call.at..=call.at, code);
}

/// The instructions that stand for an indirect call. After the function that the pointer points to
/// has been called, control goes on at the target `end`.
fn comparisons(
    caller: &mut Function,
    call: &IndirectCall,
    Instruction { guard, sources, line, .. }: &Instruction,
    callees: &[usize],
    end: usize,
) -> Vec<Instruction> {
    let mut code = Vec::new();
    let instruction = |guard, operation, destinations: &[Option<Register>], sources: &[Operand]| {
        Instruction { guard, ..Instruction::new(operation, destinations, sources, *line) }
    };
    let go_on = [Operand::Target(end)];
    if let Some(Guard { register, negated }) = *guard {
        let skip = Some(Guard { register, negated: !negated });
        code.push(instruction(skip, Operation::Branch, &[], &go_on));
    }
    for &callee in callees {
        let compare = Operation::Compare(CompareForm::integers(Comparison::NotEqual, U64));
        let differs = Register(caller.registers.len() as u32);
        caller.registers.push(RegisterType::Predicate);
        let compared = [call.pointer, Operand::Immediate(address(callee))];
        code.push(instruction(None, compare, &[Some(differs), None], &compared));
        // Behind the branch, the call and the branch that follow.
        let next = caller.targets.len();
        caller.targets.push(call.at + code.len() + 3);
        let guard = Some(Guard { register: differs, negated: false });
        code.push(instruction(guard, Operation::Branch, &[], &[Operand::Target(next)]));
        let operation = Operation::Call(Callee::Function(callee));
        code.push(instruction(None, operation, &[], sources));
        code.push(instruction(None, Operation::Branch, &[], &go_on));
    }
    // The pointer points to no function of that kind.
    code.push(instruction(None, Operation::Trap, &[], &[]));
    code
}

/// Whether variables of the caller have the sizes of the callee's.
fn have_sizes(caller: &Function, own: &[Operand], callee: &Function, variables: &[usize]) -> bool {
    let bytes = |operand: &Operand| match *operand {
        Operand::Variable(VariableRef::Frame(index)) => Some(caller.variables[index].bytes),
        _ => None,
    };
    let expected = variables.iter().map(|&index| Some(callee.variables[index].bytes));
    own.iter().map(bytes).eq(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last function of a text, in which a function of eight bytes, one of four, and one whose
    /// address nobody takes come first.
    fn resolved(body: &str) -> Function {
        let text = format!(
            ".version 8.0 .target sm_80 .address_size 64
            .func eight(.param .b64 p) {{ ret; }}
            .func four(.param .b32 p) {{ ret; }}
            .func unknown(.param .b64 p) {{ ret; }}
            .global .u64 table[2] = {{eight, four}};
            .func caller() {{ .reg .b64 %d; .reg .pred %p; .param .b64 a; {body} }}"
        );
        let module = crate::parse(&text).expect("it is valid");
        module.functions.last().expect("the caller").clone()
    }

    #[test]
    fn a_pointer_is_compared_with_the_functions_that_it_may_point_to() {
        let operations = resolved("call %d, (a), prototype; ret;").body.into_iter();
        let operations: Vec<_> = operations.map(|instruction| instruction.operation).collect();
        let compare = Operation::Compare(CompareForm::integers(Comparison::NotEqual, U64));
        let call = Operation::Call(Callee::Function(0));
        let branch = Operation::Branch;
        assert_eq!(operations, [compare, branch, call, branch, Operation::Trap, Operation::Return]);
    }

    #[test]
    fn targets_behind_the_call_move_on_with_it() {
        let function =
            resolved("before: @%p call %d, (a), prototype; bra before; after: bra after;");
        let after = function.body.len() - 1;
        assert_eq!(function.targets[..2], [0, after]);
        // A guard that does not hold skips the comparisons.
        let skip = &function.body[0];
        assert_eq!(
            (skip.guard.map(|guard| guard.negated), &skip.sources[..]),
            (Some(true), &[Operand::Target(2)][..],)
        );
        assert_eq!(function.targets[2], after - 1);
    }
}
