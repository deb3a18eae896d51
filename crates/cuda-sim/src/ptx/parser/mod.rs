//! The parser: tokens to a module, with every name resolved and every operand checked.

mod body;
mod call;
mod cursor;
mod function;
mod initial;
mod operand;
mod scope;
mod special;
mod variable;

use std::collections::HashMap;

use super::ast::Module;
use super::error::{Error, ErrorKind};
use super::lexer::{Token, TokenKind, tokenize};
use super::opcodes::Form;
use cursor::Cursor;

/// Parses and validates a module.
///
/// # Errors
///
/// The first place that is malformed or not supported.
pub(crate) fn parse(source: &str) -> Result<Module, Error> {
    // The driver API passes texts that may end in a NUL.
    let source = source.trim_end_matches('\0');
    let tokens = tokenize(source)?;
    let mut parser = Parser {
        cursor: Cursor::new(source, tokens),
        module: Module::default(),
        symbols: HashMap::new(),
        forms: HashMap::new(),
        calls: Vec::new(),
    };
    parser.module()?;
    parser.check_calls()?;
    Ok(parser.module)
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    module: Module,
    /// The names of the module's level.
    symbols: HashMap<&'s str, Symbol>,
    /// A module has many instructions but few forms, so each form is read once.
    forms: HashMap<&'s str, Form>,
    /// The functions that are called, and where.
    calls: Vec<(usize, Token)>,
}

/// What a name of the module's level stands for: an index in the module.
#[derive(Clone, Copy)]
enum Symbol {
    Variable(usize),
    Function(usize),
}

impl<'s> Parser<'s> {
    fn module(&mut self) -> Result<(), Error> {
        // Every module begins with its version: an empty text is none.
        if !self.cursor.accept_directive(".version") {
            return Err(self.cursor.error(ErrorKind::Expected("`.version`")));
        }
        self.version()?;
        while self.cursor.peek().kind != TokenKind::End {
            let directive = self.cursor.directive()?;
            match directive {
                ".target" => self.target()?,
                ".address_size" => self.address_size()?,
                ".file" | ".loc" => self.cursor.skip_line(),
                ".section" => self.section()?,
                ".visible" | ".extern" | ".weak" | ".common" => {}
                ".entry" => self.function(true)?,
                ".func" => self.function(false)?,
                ".pragma" => self.cursor.skip_statement()?,
                _ => self.module_variable(directive)?,
            }
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(), Error> {
        self.cursor.number()?;
        Ok(())
    }

    fn target(&mut self) -> Result<(), Error> {
        loop {
            let name = self.cursor.word()?;
            if matches!(name, "texmode_independent" | "map_f64_to_f32") {
                return Err(self.cursor.last_error(ErrorKind::Unsupported("this target option")));
            }
            if !self.cursor.accept(b',') {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self) -> Result<(), Error> {
        match self.cursor.number()? {
            "64" => Ok(()),
            _ => Err(self.cursor.last_error(ErrorKind::Unsupported("32-bit addresses"))),
        }
    }

    /// Debug information, which is not used.
    fn section(&mut self) -> Result<(), Error> {
        self.cursor.directive()?;
        self.cursor.expect(b'{', "`{`")?;
        let mut depth = 1;
        while depth > 0 {
            let token = self.cursor.next();
            match token.kind {
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') => depth -= 1,
                TokenKind::End => return Err(self.cursor.last_error(ErrorKind::Expected("`}`"))),
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses calls of functions that were only declared: there is nothing to link the module
    /// with.
    fn check_calls(&self) -> Result<(), Error> {
        match self.calls.iter().find(|&&(callee, _)| !self.module.functions[callee].is_defined) {
            Some(&(_, token)) => {
                let kind = ErrorKind::Unsupported("a function that the module does not define");
                Err(self.cursor.error_between(token, token, kind))
            }
            None => Ok(()),
        }
    }

    /// Declares a name of the module's level.
    fn declare(&mut self, name: &'s str, symbol: Symbol) -> Result<(), Error> {
        match self.symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(self.cursor.last_error(ErrorKind::Redeclared)),
        }
    }
}
