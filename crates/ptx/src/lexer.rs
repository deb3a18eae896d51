//! The lexer: PTX text to tokens.

use super::error::{Error, ErrorKind};

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Byte positions in the text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// From 1.
    pub(super) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, register, or opcode with all its modifiers (`ld.param.u64`, `%tid.x`).
    Word,
    /// A dot and a name, where a word does not go on.
    Directive,
    Number,
    String,
    Punctuation(u8),
    /// The end of the text.
    End,
}

/// All tokens of the text; the last one is [`TokenKind::End`].
pub(super) fn tokenize(source: &str) -> Result<Vec<Token>, Error> {
    if u32::try_from(source.len()).is_err() {
        let kind = ErrorKind::Unsupported("a module of more than 4 GiB");
        return Err(Error::at(source, 0, 0, kind));
    }
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(source.len() / 4 + 1);
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    line: u32,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Token, Error> {
        self.skip_blanks()?;
        let (start, line) = (self.at, self.line);
        let kind = match self.peek(0) {
            0 if start == self.bytes.len() => TokenKind::End,
            byte if is_name_start(byte) => self.word(),
            b'.' if is_name_start(self.peek(1)) => {
                self.at += 1;
                self.name();
                TokenKind::Directive
            }
            byte if byte.is_ascii_digit() => self.number(),
            b'"' => self.string()?,
            byte if b",;:{}[]()<>+-@!|=~*".contains(&byte) => {
                self.at += 1;
                TokenKind::Punctuation(byte)
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Token { kind, start: start as u32, end: self.at as u32, line })
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.peek(1) == b'/' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                // A preprocessor's line marker.
                b'#' => self.skip_line(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.at += 2;
        while self.at < self.bytes.len() {
            if self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.at += 2;
                return Ok(());
            }
            self.line += u32::from(self.peek(0) == b'\n');
            self.at += 1;
        }
        Err(Error::at(self.source, start, start + 2, ErrorKind::Unterminated))
    }

    fn word(&mut self) -> TokenKind {
        self.at += 1;
        self.name();
        loop {
            let separator = match (self.peek(0), self.peek(1), self.peek(2)) {
                (b'.', next, _) if is_name(next) => 1,
                (b':', b':', next) if is_name(next) => 2,
                _ => return TokenKind::Word,
            };
            self.at += separator;
            self.name();
        }
    }

    fn name(&mut self) {
        while is_name(self.peek(0)) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        let prefixed =
            self.peek(0) == b'0' && !matches!(self.peek(1), b'0'..=b'9' | b'.' | b'e' | b'E');
        loop {
            let (byte, next) = (self.peek(0), self.peek(1));
            let exponent_sign = !prefixed
                && matches!(byte, b'+' | b'-')
                && matches!(self.bytes[self.at - 1], b'e' | b'E')
                && next.is_ascii_digit();
            let fraction = byte == b'.' && !prefixed;
            if !(is_name(byte) || exponent_sign || fraction) {
                return TokenKind::Number;
            }
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<TokenKind, Error> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return Ok(TokenKind::String);
                }
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                b'\n' => {
                    return Err(Error::at(self.source, start, self.at, ErrorKind::Unterminated));
                }
                _ if self.at >= self.bytes.len() => {
                    return Err(Error::at(self.source, start, self.at, ErrorKind::Unterminated));
                }
                _ => self.at += 1,
            }
        }
    }

    fn unexpected(&self) -> Error {
        let length = self.source[self.at..].chars().next().map_or(0, char::len_utf8);
        Error::at(self.source, self.at, self.at + length, ErrorKind::UnexpectedCharacter)
    }

    /// The byte so many bytes on; 0 beyond the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        let tokens = tokenize(source).expect("valid tokens");
        tokens.iter().map(|token| &source[token.start as usize..token.end as usize]).collect()
    }

    #[test]
    fn an_opcode_is_one_token_with_its_modifiers() {
        assert_eq!(
            texts("@%p1 ld.global.v2.u32 {%r1, _}, [%rd1+-4];"),
            [
                "@",
                "%p1",
                "ld.global.v2.u32",
                "{",
                "%r1",
                ",",
                "_",
                "}",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "4",
                "]",
                ";",
                ""
            ]
        );
    }

    #[test]
    fn directives_are_split_at_their_dots() {
        assert_eq!(texts("{.reg.b16 h;"), ["{", ".reg", ".b16", "h", ";", ""]);
        assert_eq!(texts(".reg .b32 %r<4>;"), [".reg", ".b32", "%r", "<", "4", ">", ";", ""]);
    }

    #[test]
    fn numbers_keep_their_exponents_and_suffixes() {
        assert_eq!(
            texts("0f3F800000, 1.5e-3, 0x1FU, 7-1"),
            ["0f3F800000", ",", "1.5e-3", ",", "0x1FU", ",", "7", "-", "1", ""]
        );
    }

    #[test]
    fn comments_are_skipped_and_lines_counted() {
        let tokens = tokenize("// one\n/* two\nthree */ ret // é").expect("valid tokens");
        assert_eq!(tokens[0].line, 3);
        assert_eq!(tokens[1].kind, TokenKind::End);
    }

    #[test]
    fn a_stray_character_is_named_with_its_position() {
        let error = tokenize("ret;\n  é").expect_err("not PTX");
        assert_eq!((error.line, error.column, error.text.as_str()), (2, 3, "é"));
    }
}
