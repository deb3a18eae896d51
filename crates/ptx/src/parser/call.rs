//! Calls: of the module's functions, and of the two that the driver provides.

use super::function::Draft;
use super::{Parser, Symbol};
use crate::ast::{Function, Instruction, Operand, ThreadMemory, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::{Callee, Operation};

impl<'s> Parser<'s> {
    /// The operands of `call`. The sources are the arguments, then the variables for the results.
    pub(super) fn call(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        self.only_uniform(text, "call")?;
        let mut results = Vec::new();
        if self.cursor.at(b'(') {
            results = self.arguments(draft)?;
            self.cursor.expect(b',', "`,`")?;
        }
        let name = self.cursor.word()?;
        let index = match self.symbols.get(name) {
            Some(&Symbol::Function(index)) => index,
            _ if draft.scopes.register(name).is_some() => {
                return self.call_through_pointer(draft, name, &results, instruction);
            }
            _ => return Err(self.cursor.last_error(ErrorKind::Unknown("function"))),
        };
        instruction.operation = Operation::Call(match name {
            "vprintf" => Callee::Print,
            "__assertfail" => Callee::AssertFail,
            "malloc" if !self.module.functions[index].is_defined => Callee::Allocate,
            "free" if !self.module.functions[index].is_defined => Callee::Release,
            _ if self.module.functions[index].is_kernel => {
                return Err(self.cursor.last_error(ErrorKind::Operand("a function")));
            }
            _ => Callee::Function(index),
        });
        let callee = self.cursor.last();
        if instruction.operation == Operation::Call(Callee::Function(index)) {
            self.calls.push((index, callee));
        }
        let mut arguments = Vec::new();
        if self.cursor.accept(b',') {
            arguments = self.arguments(draft)?;
        }
        let function = &self.module.functions[index];
        let sizes = function.parameters.iter().map(|&at| function.variables[at].bytes);
        let provided: &[usize] = match instruction.operation {
            Operation::Call(Callee::Print) => &[8, 8],
            Operation::Call(Callee::AssertFail) => &[8, 8, 4, 8, 8],
            Operation::Call(Callee::Allocate | Callee::Release) => &[8],
            _ => &[],
        };
        if !provided.is_empty() && !sizes.eq(provided.iter().copied()) {
            let kind = ErrorKind::Unsupported("this declaration of the function");
            return Err(self.cursor.error_between(callee, callee, kind));
        }
        if !matches(draft, &arguments, function, &function.parameters)
            || !matches(draft, &results, function, &function.returns)
        {
            let kind = ErrorKind::Operand("what the function takes and returns");
            return Err(self.cursor.error_between(callee, self.cursor.last(), kind));
        }
        let variables = arguments.into_iter().chain(results);
        instruction.sources = variables.map(Operand::Variable).collect();
        Ok(())
    }

    /// The rest of a call whose target is a register: arguments, and the name of a prototype or of a
    /// list of functions, which say no more than the sizes of the variables do.
    fn call_through_pointer(
        &mut self,
        draft: &Draft<'s>,
        name: &str,
        results: &[VariableRef],
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let pointer = draft.scopes.register(name);
        let pointer = pointer.filter(|at| draft.function.registers[at.index()].bits() == 64);
        let Some(pointer) = pointer else {
            return Err(self.cursor.last_error(ErrorKind::Operand("a 64-bit register")));
        };
        self.cursor.expect(b',', "`,`")?;
        let mut arguments = Vec::new();
        if self.cursor.at(b'(') {
            arguments = self.arguments(draft)?;
            self.cursor.expect(b',', "`,`")?;
        }
        self.cursor.word()?;
        self.add_pointer_call(draft, Operand::Register(pointer), arguments.len());
        let variables = arguments.iter().chain(results);
        instruction.sources = variables.map(|&variable| Operand::Variable(variable)).collect();
        Ok(())
    }

    fn arguments(&mut self, draft: &Draft<'s>) -> Result<Vec<VariableRef>, Error> {
        self.cursor.expect(b'(', "`(`")?;
        let mut variables = Vec::new();
        while !self.cursor.accept(b')') {
            if !variables.is_empty() {
                self.cursor.expect(b',', "`,` or `)`")?;
            }
            if self.cursor.peek().kind != TokenKind::Word {
                return Err(self
                    .cursor
                    .error(ErrorKind::Unsupported("arguments that are no .param variables")));
            }
            let name = self.cursor.word()?;
            match self.variable(draft, name)? {
                variable @ VariableRef::Frame(_) => variables.push(variable),
                VariableRef::Module(_) => {
                    return Err(self.cursor.last_error(ErrorKind::Operand("a .param variable")));
                }
            }
        }
        Ok(variables)
    }
}

/// Whether the variables fit those of the function, in number and size.
fn matches(
    draft: &Draft<'_>,
    variables: &[VariableRef],
    function: &Function,
    expected: &[usize],
) -> bool {
    let fits = |(variable, &index): (&VariableRef, &usize)| match *variable {
        VariableRef::Frame(own) => {
            let own = draft.function.variables[own];
            own.memory == ThreadMemory::Frame && own.bytes == function.variables[index].bytes
        }
        VariableRef::Module(_) => false,
    };
    variables.len() == expected.len() && variables.iter().zip(expected).all(fits)
}
