//! Declarations of variables and registers.

use super::cursor::Cursor;
use super::function_draft::{FunctionDraft, MAX_REGISTERS};
use super::initial::InitialReader;
use super::module_draft::ModuleDraft;
use crate::ast::{Initial, Variable};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::types::{RegisterType, ScalarType, StateSpace};

/// No variable is larger: sizes and offsets stay far from overflow.
pub(super) const MAX_VARIABLE_BYTES: u64 = 1 << 40;

/// The most dimensions that an array may have.
const MAX_DIMENSIONS: usize = 16;

/// The part of a declaration before the first name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) ty: ScalarType,
    /// Values per element: 1, 2 or 4.
    pub(super) lanes: usize,
    pub(super) align: usize,
    /// Whether it says `.attribute(.managed)`.
    pub(super) managed: bool,
}

impl Declaration {
    /// Reads alignment, vector length and type.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Declaration, Error> {
        let mut align = None;
        let mut lanes = 1;
        let mut managed = false;
        loop {
            let directive = cursor.directive()?;
            match directive {
                ".align" => align = Some(alignment(cursor)?),
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".attribute" => managed = self::managed(cursor)?,
                _ => match ScalarType::from_name(&directive[1..]) {
                    Some(ty) if ty != ScalarType::Pred && !ty.is_byte_pair() => {
                        let size = ty.bytes() as usize * lanes;
                        let align = align.unwrap_or(size).max(size.min(16));
                        return Ok(Declaration { ty, lanes, align, managed });
                    }
                    _ if matches!(directive, ".texref" | ".surfref" | ".samplerref") => {
                        let kind = ErrorKind::Unsupported("textures and surfaces");
                        return Err(cursor.last_error(kind));
                    }
                    _ => return Err(cursor.last_error(ErrorKind::Unsupported("this type"))),
                },
            }
        }
    }

    /// Reads the declaration of a parameter: [`Declaration::read`], and what compilers say about
    /// pointers, which does not matter here.
    pub(super) fn of_parameter(cursor: &mut Cursor<'_>) -> Result<Declaration, Error> {
        let declaration = Declaration::read(cursor)?;
        if cursor.accept_directive(".ptr") {
            while cursor.peek().kind == TokenKind::Directive {
                if cursor.directive()? == ".align" {
                    alignment(cursor)?;
                }
            }
        }
        Ok(declaration)
    }
}

/// Reads the attributes of a variable in parentheses: that it is managed is the only one.
fn managed(cursor: &mut Cursor<'_>) -> Result<bool, Error> {
    cursor.expect(b'(', "`(`")?;
    if cursor.directive()? != ".managed" {
        return Err(cursor.last_error(ErrorKind::Unsupported("this attribute")));
    }
    cursor.expect(b')', "`)`")?;
    Ok(true)
}

/// Reads an alignment in bytes.
pub(super) fn alignment(cursor: &mut Cursor<'_>) -> Result<usize, Error> {
    let align = cursor.integer(4096)? as usize;
    if align.is_power_of_two() {
        return Ok(align);
    }
    Err(cursor.last_error(ErrorKind::InvalidNumber))
}

/// A declared name with its extents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Declarator<'s> {
    pub(super) name: &'s str,
    /// Elements per dimension; the first may be 0 for "not given".
    pub(super) extents: Vec<usize>,
    /// 0 if the first extent is.
    pub(super) bytes: usize,
}

impl<'s> Declarator<'s> {
    /// Reads a name and its extents in brackets.
    pub(super) fn read(
        cursor: &mut Cursor<'s>,
        declaration: Declaration,
    ) -> Result<Declarator<'s>, Error> {
        let name = cursor.word()?;
        let mut extents = Vec::new();
        // Of one element of the first dimension, if that is left open.
        let mut bytes = u64::from(declaration.ty.bytes()) * declaration.lanes as u64;
        while cursor.accept(b'[') {
            let open = extents.is_empty() && cursor.at(b']');
            let extent = if open { 0 } else { cursor.integer(MAX_VARIABLE_BYTES)? };
            bytes = bytes.saturating_mul(if open { 1 } else { extent });
            if bytes > MAX_VARIABLE_BYTES || extents.len() == MAX_DIMENSIONS {
                return Err(cursor.last_error(ErrorKind::Unsupported("so large a variable")));
            }
            extents.push(extent as usize);
            cursor.expect(b']', "`]`")?;
        }
        let bytes = if extents.first() == Some(&0) { 0 } else { bytes as usize };
        Ok(Declarator { name, extents, bytes })
    }
}

/// Reads variables that all threads share, after the directive with their state space, and adds them
/// to the module. Returns their names, which are the module's or a function's.
pub(super) fn variables<'s>(
    cursor: &mut Cursor<'s>,
    module: &mut ModuleDraft<'s>,
    space: StateSpace,
) -> Result<Vec<(&'s str, usize)>, Error> {
    let declaration = Declaration::read(cursor)?;
    let mut names = Vec::new();
    loop {
        let declarator = Declarator::read(cursor, declaration)?;
        let mut variable = Variable {
            name: declarator.name.to_owned(),
            space,
            bytes: declarator.bytes,
            align: declaration.align,
            managed: declaration.managed,
            initial: Initial::default(),
            pointers: Vec::new(),
        };
        if cursor.accept(b'=') {
            let mut reader = InitialReader::new(cursor, module, declaration.ty, &mut variable);
            reader.read(&declarator.extents, declaration.lanes)?;
        }
        names.push((declarator.name, module.add_variable(variable)));
        if cursor.list_ends()? {
            return Ok(names);
        }
    }
}

/// Reads variables inside a function, after the directive with their state space.
pub(super) fn function_variables<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
    module: &mut ModuleDraft<'s>,
    space: StateSpace,
) -> Result<(), Error> {
    if !matches!(space, StateSpace::Local | StateSpace::Param) {
        for (name, index) in variables(cursor, module, space)? {
            function.add_module_variable(name, index);
        }
        return Ok(());
    }
    let declaration = Declaration::read(cursor)?;
    loop {
        let declarator = Declarator::read(cursor, declaration)?;
        let added = function.add_to_frame(declarator.name, declarator.bytes, declaration.align);
        added.map_err(|kind| cursor.last_error(kind))?;
        if cursor.list_ends()? {
            return Ok(());
        }
    }
}

/// Reads registers, after `.reg`.
pub(super) fn registers<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
) -> Result<(), Error> {
    let directive = cursor.directive()?;
    let class = ScalarType::from_name(&directive[1..]);
    let class = class.filter(|ty| !ty.is_byte_pair()).and_then(RegisterType::declared);
    let Some(class) = class else {
        return Err(cursor.last_error(ErrorKind::Unsupported("registers of this type")));
    };
    loop {
        let name = cursor.word()?;
        let mut count = None;
        if cursor.accept(b'<') {
            count = Some(cursor.integer(MAX_REGISTERS as u64)? as u32);
            cursor.expect(b'>', "`>`")?;
        }
        let added = function.add_registers(name, count, class);
        added.map_err(|kind| cursor.last_error(kind))?;
        if cursor.list_ends()? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Declaration, Declarator<'_>), ErrorKind> {
        let mut cursor = Cursor::of(text);
        let declaration = Declaration::read(&mut cursor).map_err(|error| error.kind)?;
        let declarator = Declarator::read(&mut cursor, declaration).map_err(|error| error.kind)?;
        Ok((declaration, declarator))
    }

    #[test]
    fn a_variable_is_aligned_as_its_elements_are_or_more() {
        let align = |text| read(text).map(|(declaration, _)| declaration.align);
        assert_eq!(align(".b32 x"), Ok(4));
        assert_eq!(align(".v4 .b32 x"), Ok(16));
        assert_eq!(align(".align 2 .b32 x"), Ok(4));
        assert_eq!(align(".align 64 .b8 x[3]"), Ok(64));
        assert_eq!(align(".align 3 .b8 x"), Err(ErrorKind::InvalidNumber));
    }

    #[test]
    fn a_variable_may_be_managed() {
        let managed = |text| read(text).map(|(declaration, _)| declaration.managed);
        assert_eq!(managed(".attribute(.managed) .align 4 .u32 x"), Ok(true));
        assert_eq!(managed(".align 4 .u32 x"), Ok(false));
        let unknown = Err(ErrorKind::Unsupported("this attribute"));
        assert_eq!(managed(".attribute(.mine) .u32 x"), unknown);
    }

    #[test]
    fn extents_multiply_and_the_first_may_be_open() {
        let bytes = |text| read(text).map(|(_, declarator)| declarator.bytes);
        assert_eq!(bytes(".v2 .b16 x[3][5]"), Ok(60));
        assert_eq!(bytes(".b16 x[][5]"), Ok(0));
        let extents = read(".b16 x[][5]").map(|(_, declarator)| declarator.extents);
        assert_eq!(extents, Ok(vec![0, 5]));
        assert_eq!(bytes(".b16 x[5][]"), Err(ErrorKind::Expected("a number")));
    }

    #[test]
    fn a_parameter_may_say_where_it_points() {
        let mut cursor = Cursor::of(".u64 .ptr .global .align 4 p");
        let declaration = Declaration::of_parameter(&mut cursor).expect("it is valid");
        assert_eq!((declaration.align, cursor.word().expect("a name")), (8, "p"));
    }
}
