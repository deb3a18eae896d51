//! What becomes of the errors in a text: the first one ends the parsing, or all are collected.

use crate::error::Error;

/// The errors that were found so far, where the parsing goes on behind them.
pub(super) struct Diagnostics {
    /// `None` where the first error ends the parsing.
    errors: Option<Vec<Error>>,
}

impl Diagnostics {
    /// For a parser that stops at the first error.
    pub(super) fn first_only() -> Diagnostics {
        Diagnostics { errors: None }
    }

    /// For a parser that goes on behind each error.
    pub(super) fn all() -> Diagnostics {
        Diagnostics { errors: Some(Vec::new()) }
    }

    /// Keeps the error if all are wanted; otherwise returns it, which ends the parsing.
    pub(super) fn report(&mut self, error: Error) -> Result<(), Error> {
        match &mut self.errors {
            Some(errors) => {
                errors.push(error);
                Ok(())
            }
            None => Err(error),
        }
    }

    /// All errors in the order of the text, with the one that ended the parsing, if one did.
    pub(super) fn finish(self, last: Option<Error>) -> Vec<Error> {
        let mut errors = self.errors.unwrap_or_default();
        errors.extend(last);
        errors.sort_by_key(|error| (error.line, error.column));
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn errors() -> [Error; 2] {
        [0, 4].map(|at| Error::at("one two", at, at + 3, ErrorKind::Unterminated))
    }

    #[test]
    fn the_first_error_ends_the_parsing_where_one_is_enough() {
        let [first, _] = errors();
        assert_eq!(Diagnostics::first_only().report(first.clone()), Err(first));
    }

    #[test]
    fn collected_errors_are_in_the_order_of_the_text() {
        let [first, second] = errors();
        let mut diagnostics = Diagnostics::all();
        assert_eq!(diagnostics.report(second.clone()), Ok(()));
        assert_eq!(diagnostics.finish(Some(first.clone())), [first, second]);
    }
}
