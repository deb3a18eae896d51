//! Kernels and functions: their heads, and what is collected while their bodies are read.

use super::expand::{Stack, finish_stack};
use super::scope::Scopes;
use super::unused::drop_unused_registers;
use super::{Parser, Symbol};
use crate::ast::{Function, Register, ThreadMemory};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;

/// A function that is being read.
pub(super) struct Draft<'s> {
    /// Its index in the module.
    pub(super) index: usize,
    pub(super) function: Function,
    pub(super) scopes: Scopes<'s>,
    /// How much of the frame the variables of the open braces take; those of disjoint braces share
    /// their place.
    pub(super) frame_end: usize,
    /// The register that stands for the carry flag, once an instruction used it.
    pub(super) carry: Option<Register>,
    /// How many ways the jumps through tables have, all together.
    pub(super) table_targets: usize,
    /// Memory that is given out while the function runs, once an instruction used it.
    pub(super) stack: Option<Stack>,
}

impl<'s> Parser<'s> {
    /// A kernel or function, after its directive.
    pub(super) fn function(&mut self, is_kernel: bool) -> Result<(), Error> {
        let mut draft = Draft {
            index: 0,
            function: Function {
                name: String::new(),
                is_kernel,
                is_defined: false,
                parameters: Vec::new(),
                returns: Vec::new(),
                variables: Vec::new(),
                frame_bytes: 0,
                registers: Vec::new(),
                body: Vec::new(),
                targets: Vec::new(),
                max_threads: None,
            },
            scopes: Scopes::default(),
            frame_end: 0,
            carry: None,
            table_targets: 0,
            stack: None,
        };
        draft.scopes.open(0);
        if !is_kernel && self.cursor.accept(b'(') {
            draft.function.returns = self.parameter_list(&mut draft, ThreadMemory::Frame)?;
        }
        let name = self.cursor.word()?;
        draft.function.name = name.to_owned();
        if self.cursor.accept(b'(') {
            let memory =
                if is_kernel { ThreadMemory::KernelParameters } else { ThreadMemory::Frame };
            draft.function.parameters = self.parameter_list(&mut draft, memory)?;
        }
        self.attributes(&mut draft.function)?;
        let index = self.declare_function(name, &draft.function)?;
        draft.index = index;
        if !self.cursor.accept(b';') {
            self.body(&mut draft)?;
            if finish_stack(&mut draft) {
                self.move_pointer_calls(index);
            }
            drop_unused_registers(&mut draft.function, self.pointers.of(index));
            draft.function.is_defined = true;
            self.module.functions[index] = draft.function;
        }
        Ok(())
    }

    /// The directives between head and body. Those that only guide the register allocation do not
    /// matter here.
    fn attributes(&mut self, function: &mut Function) -> Result<(), Error> {
        while self.cursor.peek().kind == TokenKind::Directive {
            match self.cursor.directive()? {
                ".maxntid" | ".reqntid" => {
                    let threads = self.extents()?.into_iter().fold(1u64, u64::saturating_mul);
                    function.max_threads = Some(u32::try_from(threads).unwrap_or(u32::MAX));
                }
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => {
                    self.extents()?;
                }
                ".noreturn" => {}
                ".pragma" => self.cursor.skip_statement()?,
                _ => return Err(self.cursor.last_error(ErrorKind::Unsupported("this directive"))),
            }
        }
        Ok(())
    }

    fn extents(&mut self) -> Result<Vec<u64>, Error> {
        let mut extents = Vec::new();
        loop {
            extents.push(self.cursor.integer(u64::from(u32::MAX))?);
            if !self.cursor.accept(b',') {
                return Ok(extents);
            }
        }
    }

    /// The index of a function, which may have been declared before it is defined.
    fn declare_function(&mut self, name: &'s str, function: &Function) -> Result<usize, Error> {
        if let Some(&Symbol::Function(index)) = self.symbols.get(name) {
            let declared = &self.module.functions[index];
            let same = declared.is_kernel == function.is_kernel
                && declared.returns.len() == function.returns.len()
                && declared.parameters.len() == function.parameters.len()
                && declared.variables == function.variables;
            if declared.is_defined && !self.cursor.at(b';') || !same {
                return Err(self.cursor.last_error(ErrorKind::Redeclared));
            }
            return Ok(index);
        }
        let index = self.module.functions.len();
        self.declare(name, Symbol::Function(index))?;
        self.module.functions.push(function.clone());
        Ok(index)
    }
}
