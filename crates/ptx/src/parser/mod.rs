//! The parser: tokens to a module, with every name resolved and every operand checked.
//!
//! What is read is kept by two drafts: [`module_draft`] has the module's level, and
//! [`function_draft`] the function whose body is being read. The other files read one part of the
//! language each, from a [`cursor`], and tell the drafts what they found.

mod body;
mod branch;
mod call;
mod cursor;
mod declaration;
mod diagnostics;
mod dynamic_stack;
mod expand;
mod function;
mod function_draft;
mod header;
mod indirect_calls;
mod initial;
mod module_draft;
mod mov;
mod operand;
mod ordinary;
mod scope;
mod unused;

use super::ast::Module;
use super::error::{Error, ErrorKind};
use super::lexer::{TokenKind, tokenize};
use super::types::StateSpace;
use cursor::Cursor;
use diagnostics::Diagnostics;
use module_draft::{ModuleDraft, Symbol};
use ordinary::FormCache;

/// Parses and validates a module. NULs at the end of the text are passed over, since the driver API
/// takes texts with them.
///
/// # Errors
/// The first location that is malformed or not supported.
///
/// ```
/// let error = ptx::parse(".version 8.0 .target sm_80\n.entry k() { mov.b32 %r0, 1; }").unwrap_err();
/// assert_eq!((error.line, error.text.as_str()), (2, "%r0"));
/// assert_eq!(error.kind, ptx::ErrorKind::Unknown("register"));
/// ```
pub fn parse(source: &str) -> Result<Module, Error> {
    let mut parser = Parser::new(source, Diagnostics::first_only())?;
    parser.module()?;
    Ok(parser.module.finish())
}

/// Parses a module that is still to be linked: what it calls may be defined in another.
///
/// # Errors
/// The first location that is malformed or not supported.
pub fn parse_unlinked(source: &str) -> Result<Module, Error> {
    let mut parser = Parser::new(source, Diagnostics::first_only())?;
    parser.items()?;
    Ok(parser.module.finish())
}

/// The version of the language that a text says it is written in: the numbers of its first line.
pub fn language_version(source: &str) -> Option<(u32, u32)> {
    let mut parser = Parser::new(source, Diagnostics::first_only()).ok()?;
    parser.version().ok()?;
    Some(parser.module.finish().version)
}

/// Reads all of a module, going on behind each location that is malformed or not supported.
///
/// The module is what could be read of it; it may only be used if there were no errors.
pub fn survey(source: &str) -> (Module, Vec<Error>) {
    let mut parser = match Parser::new(source, Diagnostics::all()) {
        Ok(parser) => parser,
        Err(error) => return (Module::default(), vec![error]),
    };
    let last = parser.module().err();
    (parser.module.finish(), parser.diagnostics.finish(last))
}

/// Reads the directives of a module's level.
struct Parser<'s> {
    cursor: Cursor<'s>,
    module: ModuleDraft<'s>,
    forms: FormCache<'s>,
    diagnostics: Diagnostics,
}

/// A function that reads what follows a directive of the module's head.
type HeaderReader = fn(&mut Cursor<'_>, &mut ModuleDraft<'_>) -> Result<(), Error>;

impl<'s> Parser<'s> {
    fn new(source: &'s str, diagnostics: Diagnostics) -> Result<Parser<'s>, Error> {
        // The driver API passes texts that may end in a NUL.
        let source = source.trim_end_matches('\0');
        Ok(Parser {
            cursor: Cursor::new(source, tokenize(source)?),
            module: ModuleDraft::default(),
            forms: FormCache::default(),
            diagnostics,
        })
    }

    fn module(&mut self) -> Result<(), Error> {
        self.items()?;
        self.check_functions_used()
    }

    /// Every module begins with its version: an empty text is none.
    fn version(&mut self) -> Result<(), Error> {
        if !self.cursor.accept_directive(".version") {
            return Err(self.cursor.error(ErrorKind::Expected("`.version`")));
        }
        header::version(&mut self.cursor, &mut self.module)
    }

    fn items(&mut self) -> Result<(), Error> {
        self.version()?;
        while self.cursor.peek().kind != TokenKind::End {
            if let Err(error) = self.item() {
                self.diagnostics.report(error)?;
                self.cursor.skip_item();
            }
        }
        Ok(())
    }

    /// Reads a directive of the module's level with all that belongs to it.
    fn item(&mut self) -> Result<(), Error> {
        let directive = self.cursor.directive()?;
        match directive {
            ".target" => self.header(header::target),
            ".address_size" => self.header(header::address_size),
            ".file" | ".loc" => {
                self.cursor.skip_line();
                Ok(())
            }
            ".section" => header::skip_section(&mut self.cursor),
            ".visible" | ".extern" | ".weak" | ".common" => Ok(()),
            ".entry" => self.function(true),
            ".func" => self.function(false),
            ".pragma" => self.cursor.skip_statement(),
            _ => self.variables(directive),
        }
    }

    /// Reads a line of the module's head, which ends without a semicolon.
    fn header(&mut self, read: HeaderReader) -> Result<(), Error> {
        if let Err(error) = read(&mut self.cursor, &mut self.module) {
            self.diagnostics.report(error)?;
            self.cursor.skip_line();
        }
        Ok(())
    }

    fn function(&mut self, is_kernel: bool) -> Result<(), Error> {
        let Parser { cursor, module, forms, diagnostics } = self;
        function::read(cursor, module, forms, diagnostics, is_kernel)
    }

    /// Reads variables, after the directive with their state space.
    fn variables(&mut self, directive: &str) -> Result<(), Error> {
        let space = match StateSpace::from_name(&directive[1..]) {
            Some(space @ (StateSpace::Global | StateSpace::Const | StateSpace::Shared)) => space,
            _ => return Err(self.cursor.last_error(ErrorKind::Unsupported("this directive"))),
        };
        for (name, index) in declaration::variables(&mut self.cursor, &mut self.module, space)? {
            let declared = self.module.declare(name, Symbol::Variable(index));
            declared.map_err(|kind| self.cursor.last_error(kind))?;
        }
        Ok(())
    }

    /// Refuses uses of functions that were only declared.
    fn check_functions_used(&mut self) -> Result<(), Error> {
        for token in self.module.undefined_functions_used() {
            let kind = ErrorKind::Unsupported("a function that the module does not define");
            self.diagnostics.report(self.cursor.error_at(token, kind))?;
        }
        Ok(())
    }
}
