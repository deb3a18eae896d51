//! A position in the token stream, with the small expectations that all parts of the parser have.

use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::literal::Literal;

/// A position in the tokens of a text.
pub(super) struct Cursor<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
}

impl<'s> Cursor<'s> {
    /// At the first of the tokens, which end in [`TokenKind::End`].
    pub(super) fn new(source: &'s str, tokens: Vec<Token>) -> Cursor<'s> {
        Cursor { source, tokens, at: 0 }
    }

    /// At the first token of a text of valid tokens.
    #[cfg(test)]
    pub(super) fn of(source: &'s str) -> Cursor<'s> {
        Cursor::new(source, crate::lexer::tokenize(source).expect("valid tokens"))
    }

    pub(super) fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// The token so many tokens on; the end stays the end.
    pub(super) fn peek_ahead(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn text(&self, token: Token) -> &'s str {
        &self.source[token.start as usize..token.end as usize]
    }

    /// Whether the next token is that character.
    pub(super) fn at(&self, character: u8) -> bool {
        self.peek().kind == TokenKind::Punctuation(character)
    }

    /// Goes over the character if it is next.
    pub(super) fn accept(&mut self, character: u8) -> bool {
        let found = self.at(character);
        if found {
            self.next();
        }
        found
    }

    /// Goes over the directive if it is next.
    pub(super) fn accept_directive(&mut self, text: &str) -> bool {
        let token = self.peek();
        let found = token.kind == TokenKind::Directive && self.text(token) == text;
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect(&mut self, character: u8, name: &'static str) -> Result<(), Error> {
        if self.accept(character) {
            return Ok(());
        }
        Err(self.error(ErrorKind::Expected(name)))
    }

    pub(super) fn comma(&mut self) -> Result<(), Error> {
        self.expect(b',', "`,`")
    }

    /// Whether a list that ends in a semicolon ends here; otherwise it goes over the comma before the
    /// next element.
    pub(super) fn list_ends(&mut self) -> Result<bool, Error> {
        if self.accept(b',') {
            return Ok(false);
        }
        self.expect(b';', "`;`").map(|()| true)
    }

    /// Reads a list, after its opening parenthesis, with `element`.
    pub(super) fn until_parenthesis(
        &mut self,
        mut element: impl FnMut(&mut Cursor<'s>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut first = true;
        while !self.accept(b')') {
            if !first {
                self.expect(b',', "`,` or `)`")?;
            }
            first = false;
            element(self)?;
        }
        Ok(())
    }

    pub(super) fn word(&mut self) -> Result<&'s str, Error> {
        self.of_kind(TokenKind::Word, "a name")
    }

    pub(super) fn directive(&mut self) -> Result<&'s str, Error> {
        self.of_kind(TokenKind::Directive, "a directive")
    }

    pub(super) fn number(&mut self) -> Result<&'s str, Error> {
        self.of_kind(TokenKind::Number, "a number")
    }

    /// A number with its signs.
    pub(super) fn literal(&mut self) -> Result<Literal, Error> {
        let mut negative = false;
        while self.at(b'-') || self.at(b'+') {
            negative ^= self.next().kind == TokenKind::Punctuation(b'-');
        }
        let text = self.number()?;
        let literal =
            Literal::parse(text).ok_or_else(|| self.last_error(ErrorKind::InvalidNumber))?;
        Ok(if negative { literal.negated() } else { literal })
    }

    /// Whether a number, perhaps with a sign, is next.
    pub(super) fn at_literal(&self) -> bool {
        self.at(b'-') || self.peek().kind == TokenKind::Number
    }

    /// An integer that is no larger than `limit`.
    pub(super) fn integer(&mut self, limit: u64) -> Result<u64, Error> {
        match self.literal()? {
            Literal::Integer(value) if value <= limit => Ok(value),
            _ => Err(self.last_error(ErrorKind::InvalidNumber)),
        }
    }

    /// A distance in bytes, with its signs.
    pub(super) fn offset(&mut self) -> Result<i64, Error> {
        match self.literal()? {
            Literal::Integer(value) => Ok(value as i64),
            _ => Err(self.last_error(ErrorKind::InvalidNumber)),
        }
    }

    /// A distance in bytes that begins with a sign; 0 if there is none.
    pub(super) fn signed_offset(&mut self) -> Result<i64, Error> {
        if self.at(b'+') || self.at(b'-') { self.offset() } else { Ok(0) }
    }

    /// Goes over all tokens on the line of the token before.
    pub(super) fn skip_line(&mut self) {
        let line = self.last().line;
        while self.peek().line == line && self.peek().kind != TokenKind::End {
            self.next();
        }
    }

    /// Goes over all tokens up to the next semicolon.
    pub(super) fn skip_statement(&mut self) -> Result<(), Error> {
        while !self.accept(b';') {
            if self.next().kind == TokenKind::End {
                return Err(self.error(ErrorKind::Expected("`;`")));
            }
        }
        Ok(())
    }

    /// Goes behind the statement that an error was found in: behind its semicolon, or up to the
    /// brace that closes what is around it.
    pub(super) fn skip_broken_statement(&mut self) {
        let mut depth = 0usize;
        loop {
            let in_operand = matches!(self.peek_ahead(1).kind, TokenKind::Punctuation(b',' | b';'));
            match self.peek().kind {
                TokenKind::End => return,
                TokenKind::Punctuation(b';') if depth == 0 => {
                    self.next();
                    return;
                }
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') if depth == 0 && !in_operand => return,
                TokenKind::Punctuation(b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.next();
        }
    }

    /// Goes behind a declaration of the module's level that an error was found in: behind its
    /// semicolon, or behind a function's body.
    pub(super) fn skip_item(&mut self) {
        let mut depth = 0usize;
        loop {
            let token = self.next();
            match token.kind {
                TokenKind::End => return,
                TokenKind::Punctuation(b';') if depth == 0 => return,
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && !self.at(b';') {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// An error at the next token.
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        self.error_at(self.peek(), kind)
    }

    /// An error at the token before.
    pub(super) fn last_error(&self, kind: ErrorKind) -> Error {
        self.error_at(self.last(), kind)
    }

    /// An error at a token.
    pub(super) fn error_at(&self, token: Token, kind: ErrorKind) -> Error {
        self.error_between(token, token, kind)
    }

    /// An error from one token to another.
    pub(super) fn error_between(&self, first: Token, last: Token, kind: ErrorKind) -> Error {
        Error::on_line(self.source, first.line, first.start as usize..last.end as usize, kind)
    }

    /// The token before.
    pub(super) fn last(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    fn of_kind(&mut self, kind: TokenKind, name: &'static str) -> Result<&'s str, Error> {
        let token = self.peek();
        if token.kind != kind {
            return Err(self.error(ErrorKind::Expected(name)));
        }
        self.next();
        Ok(self.text(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_after_a_comma_and_ends_in_a_semicolon() {
        let mut cursor = Cursor::of(", ; )");
        assert_eq!(cursor.list_ends(), Ok(false));
        assert_eq!(cursor.list_ends(), Ok(true));
        assert_eq!(cursor.list_ends().unwrap_err().kind, ErrorKind::Expected("`;`"));
    }

    #[test]
    fn a_list_in_parentheses_may_be_empty() {
        let words = |text| {
            let mut words = Vec::new();
            let read = Cursor::of(text).until_parenthesis(|cursor| {
                words.push(cursor.word()?);
                Ok(())
            });
            read.map(|()| words).map_err(|error| error.kind)
        };
        assert_eq!(words(")"), Ok(vec![]));
        assert_eq!(words("a, b)"), Ok(vec!["a", "b"]));
        assert_eq!(words("a b)"), Err(ErrorKind::Expected("`,` or `)`")));
    }

    #[test]
    fn a_distance_has_a_sign_or_is_not_there() {
        assert_eq!(Cursor::of("+-4").signed_offset(), Ok(-4));
        assert_eq!(Cursor::of("]").signed_offset(), Ok(0));
        let error = Cursor::of("+1.5").signed_offset().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidNumber);
    }

    #[test]
    fn a_broken_statement_ends_at_its_semicolon_or_before_the_brace_around_it() {
        let mut cursor = Cursor::of("mov {a; b}, c; next }");
        cursor.skip_broken_statement();
        assert_eq!(cursor.word(), Ok("next"));
        cursor.skip_broken_statement();
        assert!(cursor.at(b'}'));
    }

    #[test]
    fn a_broken_item_ends_at_its_semicolon_or_behind_its_body() {
        let mut cursor = Cursor::of("a b; k() { x; { y; } } z");
        cursor.skip_item();
        assert_eq!(cursor.word(), Ok("k"));
        cursor.skip_item();
        assert_eq!(cursor.word(), Ok("z"));
    }
}
