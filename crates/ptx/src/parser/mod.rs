//! The parser: tokens to a module, with every name resolved and every operand checked.

mod body;
mod call;
mod cursor;
mod expand;
mod function;
mod initial;
mod operand;
mod pointers;
mod scope;
mod special;
mod unused;
mod variable;

use std::collections::HashMap;

use super::ast::Module;
use super::error::{Error, ErrorKind};
use super::lexer::{Token, TokenKind, tokenize};
use super::opcodes::InstructionForm;
use cursor::Cursor;
use pointers::Pointers;

/// Parses and validates a module. NULs at the end of the text are passed over, since the driver API
/// takes texts with them.
///
/// # Errors
/// The first place that is malformed or not supported.
///
/// ```
/// let error = ptx::parse(".version 8.0 .target sm_80\n.entry k() { mov.b32 %r0, 1; }").unwrap_err();
/// assert_eq!((error.line, error.text.as_str()), (2, "%r0"));
/// assert_eq!(error.kind, ptx::ErrorKind::Unknown("register"));
/// ```
pub fn parse(source: &str) -> Result<Module, Error> {
    let mut parser = Parser::new(source, None)?;
    parser.module()?;
    Ok(parser.module)
}

/// Reads all of a module, going on behind each place that is malformed or not supported.
///
/// The module is what could be read of it; it may only be used if there were no errors.
pub fn survey(source: &str) -> (Module, Vec<Error>) {
    let mut parser = match Parser::new(source, Some(Vec::new())) {
        Ok(parser) => parser,
        Err(error) => return (Module::default(), vec![error]),
    };
    let last = parser.module().err();
    let mut errors = parser.errors.unwrap_or_default();
    errors.extend(last);
    errors.sort_by_key(|error| (error.line, error.column));
    (parser.module, errors)
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    module: Module,
    /// The names of the module's level.
    symbols: HashMap<&'s str, Symbol>,
    /// A module has many instructions but few forms, so each form is read once.
    forms: HashMap<&'s str, InstructionForm>,
    /// The functions that are called, and where.
    calls: Vec<(usize, Token)>,
    pointers: Pointers,
    /// What was wrong so far, where all of it is wanted.
    errors: Option<Vec<Error>>,
}

/// What a name of the module's level stands for: an index in the module.
#[derive(Clone, Copy)]
enum Symbol {
    Variable(usize),
    Function(usize),
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, errors: Option<Vec<Error>>) -> Result<Parser<'s>, Error> {
        // The driver API passes texts that may end in a NUL.
        let source = source.trim_end_matches('\0');
        let tokens = tokenize(source)?;
        Ok(Parser {
            cursor: Cursor::new(source, tokens),
            module: Module::default(),
            symbols: HashMap::new(),
            forms: HashMap::new(),
            calls: Vec::new(),
            pointers: Pointers::default(),
            errors,
        })
    }

    /// Keeps an error where all are wanted; otherwise it ends the parsing.
    fn note(&mut self, error: Error) -> Result<(), Error> {
        match &mut self.errors {
            Some(errors) => {
                errors.push(error);
                Ok(())
            }
            None => Err(error),
        }
    }

    fn module(&mut self) -> Result<(), Error> {
        // Every module begins with its version: an empty text is none.
        if !self.cursor.accept_directive(".version") {
            return Err(self.cursor.error(ErrorKind::Expected("`.version`")));
        }
        self.version()?;
        while self.cursor.peek().kind != TokenKind::End {
            if let Err(error) = self.item() {
                self.note(error)?;
                self.cursor.skip_item();
            }
        }
        self.check_calls()?;
        self.resolve_pointers()
    }

    /// A directive of the module's level with all that belongs to it.
    fn item(&mut self) -> Result<(), Error> {
        let directive = self.cursor.directive()?;
        match directive {
            ".target" => self.header(Parser::target),
            ".address_size" => self.header(Parser::address_size),
            ".file" | ".loc" => {
                self.cursor.skip_line();
                Ok(())
            }
            ".section" => self.section(),
            ".visible" | ".extern" | ".weak" | ".common" => Ok(()),
            ".entry" => self.function(true),
            ".func" => self.function(false),
            ".pragma" => self.cursor.skip_statement(),
            _ => self.module_variable(directive),
        }
    }

    /// A line of the module's head, which ends without a semicolon.
    fn header(&mut self, read: fn(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = read(self) {
            self.note(error)?;
            self.cursor.skip_line();
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(), Error> {
        let parts = self.cursor.number()?.split_once('.');
        let version =
            parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        self.module.version =
            version.ok_or_else(|| self.cursor.last_error(ErrorKind::InvalidNumber))?;
        Ok(())
    }

    fn target(&mut self) -> Result<(), Error> {
        loop {
            let name = self.cursor.word()?;
            if matches!(name, "texmode_independent" | "map_f64_to_f32") {
                return Err(self.cursor.last_error(ErrorKind::Unsupported("this target option")));
            }
            if let Some(number) = name.strip_prefix("sm_") {
                // A letter behind the number says that newer architectures cannot run it.
                let number = number.trim_end_matches(['a', 'f']).parse();
                self.module.target =
                    number.map_err(|_| self.cursor.last_error(ErrorKind::InvalidNumber))?;
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
    fn check_calls(&mut self) -> Result<(), Error> {
        for (callee, token) in std::mem::take(&mut self.calls) {
            if !self.module.functions[callee].is_defined {
                let kind = ErrorKind::Unsupported("a function that the module does not define");
                let error = self.cursor.error_between(token, token, kind);
                self.note(error)?;
            }
        }
        Ok(())
    }

    /// Declares a name of the module's level.
    fn declare(&mut self, name: &'s str, symbol: Symbol) -> Result<(), Error> {
        match self.symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(self.cursor.last_error(ErrorKind::Redeclared)),
        }
    }
}
