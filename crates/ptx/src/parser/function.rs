//! Kernels and functions: their heads, and what follows them.

use super::body::BodyReader;
use super::cursor::Cursor;
use super::declaration::{Declaration, Declarator};
use super::diagnostics::Diagnostics;
use super::function_draft::FunctionDraft;
use super::module_draft::ModuleDraft;
use super::ordinary::FormCache;
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;

/// Reads a kernel or function after its directive, and adds it to the module.
pub(super) fn read<'s>(
    cursor: &mut Cursor<'s>,
    module: &mut ModuleDraft<'s>,
    forms: &mut FormCache<'s>,
    diagnostics: &mut Diagnostics,
    is_kernel: bool,
) -> Result<(), Error> {
    let mut function = FunctionDraft::new(is_kernel);
    if !is_kernel && cursor.accept(b'(') {
        parameters(cursor, |name, bytes, align| function.add_return(name, bytes, align))?;
    }
    let name = cursor.word()?;
    function.set_name(name);
    if cursor.accept(b'(') {
        parameters(cursor, |name, bytes, align| function.add_parameter(name, bytes, align))?;
    }
    attributes(cursor, &mut function)?;
    let is_definition = !cursor.at(b';');
    let index = module.declare_function(name, function.head(), is_definition);
    let index = index.map_err(|kind| cursor.last_error(kind))?;
    if !cursor.accept(b';') {
        BodyReader::new(cursor, &mut function, module, forms, diagnostics).read()?;
        let (function, indirect_calls) = function.finish();
        module.define_function(index, function, indirect_calls);
    }
    Ok(())
}

/// Reads the parameters of a function, or its return values, after the opening parenthesis. `add`
/// takes the name, size and alignment of each.
fn parameters<'s>(
    cursor: &mut Cursor<'s>,
    mut add: impl FnMut(&'s str, usize, usize) -> Result<(), ErrorKind>,
) -> Result<(), Error> {
    cursor.until_parenthesis(|cursor| {
        if !cursor.accept_directive(".param") {
            let kind = ErrorKind::Unsupported("parameters that are no .param variables");
            return Err(cursor.error(kind));
        }
        let declaration = Declaration::of_parameter(cursor)?;
        let declarator = Declarator::read(cursor, declaration)?;
        add(declarator.name, declarator.bytes, declaration.align)
            .map_err(|kind| cursor.last_error(kind))
    })
}

/// Reads the directives between head and body. Those that are about several blocks of a
/// multiprocessor do not matter here.
fn attributes(cursor: &mut Cursor<'_>, function: &mut FunctionDraft<'_>) -> Result<(), Error> {
    while cursor.peek().kind == TokenKind::Directive {
        match cursor.directive()? {
            ".maxntid" | ".reqntid" => {
                let threads = extents(cursor)?.into_iter().fold(1u64, u64::saturating_mul);
                function.set_max_threads(u32::try_from(threads).unwrap_or(u32::MAX));
            }
            ".maxnreg" => {
                let registers = cursor.integer(u64::from(u32::MAX))?;
                function.set_max_registers(u32::try_from(registers).unwrap_or(u32::MAX));
            }
            ".minnctapersm" | ".maxnctapersm" => {
                extents(cursor)?;
            }
            ".noreturn" => {}
            ".pragma" => cursor.skip_statement()?,
            _ => return Err(cursor.last_error(ErrorKind::Unsupported("this directive"))),
        }
    }
    Ok(())
}

fn extents(cursor: &mut Cursor<'_>) -> Result<Vec<u64>, Error> {
    let mut extents = Vec::new();
    loop {
        extents.push(cursor.integer(u64::from(u32::MAX))?);
        if !cursor.accept(b',') {
            return Ok(extents);
        }
    }
}
