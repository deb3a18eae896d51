//! The module that is being read: its variables and functions, and the names of its level.

use std::collections::HashMap;

use super::indirect_calls::{self, IndirectCall};
use crate::ast::{Function, Module, Variable, VariableRef};
use crate::error::ErrorKind;
use crate::lexer::Token;

/// The meaning of a name of the module's level: an index in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// An index in [`Module::variables`].
    Variable(usize),
    /// An index in [`Module::functions`].
    Function(usize),
}

/// A module that is being read, with the names of its level.
#[derive(Default)]
pub(super) struct ModuleDraft<'s> {
    module: Module,
    symbols: HashMap<&'s str, Symbol>,
    /// The functions that are called, and where.
    called: Vec<(usize, Token)>,
    /// The functions whose addresses are taken, and where.
    taken: Vec<(usize, Token)>,
    /// Calls through pointers, with the function that each is in.
    indirect_calls: Vec<(usize, IndirectCall)>,
}

impl<'s> ModuleDraft<'s> {
    pub(super) fn set_version(&mut self, version: (u32, u32)) {
        self.module.version = version;
    }

    pub(super) fn set_target(&mut self, target: u32) {
        self.module.target = target;
    }

    /// The variable or function of that name.
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    /// The variable of that name.
    pub(super) fn variable_named(&self, name: &str) -> Result<VariableRef, ErrorKind> {
        match self.symbol(name) {
            Some(Symbol::Variable(index)) => Ok(VariableRef::Module(index)),
            Some(Symbol::Function(_)) => Err(ErrorKind::Unsupported("addresses of functions")),
            None => Err(ErrorKind::Unknown("variable")),
        }
    }

    /// Gives a name of the module's level its meaning.
    pub(super) fn declare(&mut self, name: &'s str, symbol: Symbol) -> Result<(), ErrorKind> {
        match self.symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Redeclared),
        }
    }

    /// Adds a variable, whose name may be one of a function's instead of the module's level.
    pub(super) fn add_variable(&mut self, variable: Variable) -> usize {
        self.module.variables.push(variable);
        self.module.variables.len() - 1
    }

    pub(super) fn variable(&self, index: usize) -> &Variable {
        &self.module.variables[index]
    }

    pub(super) fn function(&self, index: usize) -> &Function {
        &self.module.functions[index]
    }

    /// The index of a function, whose head has been read: it may have been declared before it is
    /// defined, with the same head.
    pub(super) fn declare_function(
        &mut self,
        name: &'s str,
        head: &Function,
        is_definition: bool,
    ) -> Result<usize, ErrorKind> {
        if let Some(Symbol::Function(index)) = self.symbol(name) {
            let declared = &self.module.functions[index];
            let same = declared.is_kernel == head.is_kernel
                && declared.returns.len() == head.returns.len()
                && declared.parameters.len() == head.parameters.len()
                && declared.variables == head.variables;
            if declared.is_defined && is_definition || !same {
                return Err(ErrorKind::Redeclared);
            }
            return Ok(index);
        }
        let index = self.module.functions.len();
        self.declare(name, Symbol::Function(index))?;
        self.module.functions.push(head.clone());
        Ok(index)
    }

    /// Puts a function with its body in place of its declaration.
    pub(super) fn define_function(
        &mut self,
        index: usize,
        function: Function,
        indirect_calls: Vec<IndirectCall>,
    ) {
        self.module.functions[index] = Function { is_defined: true, ..function };
        self.indirect_calls.extend(indirect_calls.into_iter().map(|call| (index, call)));
    }

    /// Notes that a function is called at a location of the text: it must be defined in the end.
    pub(super) fn note_call(&mut self, function: usize, at: Token) {
        self.called.push((function, at));
    }

    /// The address of a function that the text names at a location. Indirect calls may reach it
    /// from now on.
    pub(super) fn take_address(&mut self, function: usize, at: Token) -> Result<u64, ErrorKind> {
        if self.module.functions[function].is_kernel {
            return Err(ErrorKind::Unsupported("addresses of kernels"));
        }
        self.taken.push((function, at));
        Ok(indirect_calls::address(function))
    }

    /// The locations at which functions are called, or their addresses taken, that were only declared.
    pub(super) fn undefined_functions_used(&self) -> Vec<Token> {
        let used = self.called.iter().chain(&self.taken);
        used.filter(|(index, _)| !self.function(*index).is_defined).map(|(_, at)| *at).collect()
    }

    /// The module, whose indirect calls have become comparisons and direct calls.
    pub(super) fn finish(mut self) -> Module {
        let mut targets = Vec::new();
        for &(index, _) in &self.taken {
            if self.function(index).is_defined && !targets.contains(&index) {
                targets.push(index);
            }
        }
        // From the last one on, so that the places of the others stay.
        for (function, call) in self.indirect_calls.iter().rev() {
            indirect_calls::resolve(&mut self.module, *function, call, &targets);
        }
        self.module
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::function_draft::FunctionDraft;

    /// The head of a function with parameters of those sizes.
    fn head(is_kernel: bool, parameters: &[usize]) -> Function {
        let mut function = FunctionDraft::new(is_kernel);
        for &bytes in parameters {
            function.add_parameter("p", bytes, bytes).expect("it is small");
        }
        function.head().clone()
    }

    fn token() -> Token {
        crate::lexer::tokenize("f").expect("a word")[0]
    }

    #[test]
    fn a_name_of_the_modules_level_means_one_thing() {
        let mut module = ModuleDraft::default();
        assert_eq!(module.declare("a", Symbol::Variable(0)), Ok(()));
        assert_eq!(module.declare("a", Symbol::Function(0)), Err(ErrorKind::Redeclared));
        assert_eq!(module.variable_named("b"), Err(ErrorKind::Unknown("variable")));
    }

    #[test]
    fn a_function_is_declared_often_with_one_head_and_defined_once() {
        let mut module = ModuleDraft::default();
        let function = head(false, &[4, 8]);
        let index = module.declare_function("f", &function, false).expect("it is new");
        assert_eq!(module.declare_function("f", &function, true), Ok(index));
        module.define_function(index, function.clone(), Vec::new());
        assert_eq!(module.declare_function("f", &function, false), Ok(index));
        let again = module.declare_function("f", &function, true);
        assert_eq!(again, Err(ErrorKind::Redeclared));
        let other = module.declare_function("f", &head(false, &[4, 4]), false);
        assert_eq!(other, Err(ErrorKind::Redeclared));
    }

    #[test]
    fn functions_that_are_used_must_be_defined_in_the_end() {
        let mut module = ModuleDraft::default();
        let function = head(false, &[]);
        let index = module.declare_function("f", &function, false).expect("it is new");
        module.note_call(index, token());
        assert!(module.take_address(index, token()).is_ok());
        assert_eq!(module.undefined_functions_used(), [token(), token()]);
        module.define_function(index, function, Vec::new());
        assert_eq!(module.undefined_functions_used(), []);
    }

    #[test]
    fn kernels_have_no_address() {
        let mut module = ModuleDraft::default();
        let index = module.declare_function("k", &head(true, &[]), true).expect("it is new");
        let kind = ErrorKind::Unsupported("addresses of kernels");
        assert_eq!(module.take_address(index, token()), Err(kind));
    }
}
