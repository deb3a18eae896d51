//! The head of a module, and directives of its level that declare nothing.

use super::cursor::Cursor;
use super::module_draft::ModuleDraft;
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;

/// Reads the number after `.version`.
pub(super) fn version(cursor: &mut Cursor<'_>, module: &mut ModuleDraft<'_>) -> Result<(), Error> {
    let parts = cursor.number()?.split_once('.');
    let version = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    module.set_version(version.ok_or_else(|| cursor.last_error(ErrorKind::InvalidNumber))?);
    Ok(())
}

/// Reads the names after `.target`.
pub(super) fn target(cursor: &mut Cursor<'_>, module: &mut ModuleDraft<'_>) -> Result<(), Error> {
    loop {
        let name = cursor.word()?;
        if matches!(name, "texmode_independent" | "map_f64_to_f32") {
            return Err(cursor.last_error(ErrorKind::Unsupported("this target option")));
        }
        if let Some(number) = name.strip_prefix("sm_") {
            // A letter behind the number says that newer architectures cannot run it.
            let number = number.trim_end_matches(['a', 'f']).parse();
            module.set_target(number.map_err(|_| cursor.last_error(ErrorKind::InvalidNumber))?);
        }
        if !cursor.accept(b',') {
            return Ok(());
        }
    }
}

/// Reads the number after `.address_size`.
pub(super) fn address_size(cursor: &mut Cursor<'_>, _: &mut ModuleDraft<'_>) -> Result<(), Error> {
    match cursor.number()? {
        "64" => Ok(()),
        _ => Err(cursor.last_error(ErrorKind::Unsupported("32-bit addresses"))),
    }
}

/// Goes over a `.section` of debug information, which is not used.
pub(super) fn skip_section(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    cursor.directive()?;
    cursor.expect(b'{', "`{`")?;
    let mut depth = 1;
    while depth > 0 {
        match cursor.next().kind {
            TokenKind::Punctuation(b'{') => depth += 1,
            TokenKind::Punctuation(b'}') => depth -= 1,
            TokenKind::End => return Err(cursor.last_error(ErrorKind::Expected("`}`"))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Module;

    fn read(
        read: fn(&mut Cursor<'_>, &mut ModuleDraft<'_>) -> Result<(), Error>,
        text: &str,
    ) -> Result<Module, ErrorKind> {
        let mut module = ModuleDraft::default();
        read(&mut Cursor::of(text), &mut module).map_err(|error| error.kind)?;
        Ok(module.finish())
    }

    #[test]
    fn a_version_has_two_numbers() {
        assert_eq!(read(version, "8.3").map(|module| module.version), Ok((8, 3)));
        assert_eq!(read(version, "8").map(drop), Err(ErrorKind::InvalidNumber));
    }

    #[test]
    fn a_target_may_end_in_a_letter_and_be_followed_by_options() {
        assert_eq!(read(target, "sm_90a, debug").map(|module| module.target), Ok(90));
        assert_eq!(read(target, "sm_x").map(drop), Err(ErrorKind::InvalidNumber));
    }
}
