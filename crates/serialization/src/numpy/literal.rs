//! Literals of Python, as far as headers of arrays have them. Nothing is nested, but for lists,
//! which are passed over.

/// A value in a header.
#[derive(Debug, PartialEq)]
pub(super) enum PythonLiteral {
    Text(String),
    Bool(bool),
    Tuple(Vec<usize>),
    /// A list, of whatever.
    List,
}

impl PythonLiteral {
    /// The entries of a dictionary whose keys are texts.
    ///
    /// # Errors
    /// The text is none.
    pub(super) fn dictionary(text: &[u8]) -> Result<Vec<(String, PythonLiteral)>, String> {
        let mut cursor = LiteralCursor { text: text.trim_ascii() };
        cursor.entries().filter(|_| cursor.text.is_empty()).ok_or_else(|| {
            let rest = String::from_utf8_lossy(&cursor.text[..cursor.text.len().min(40)]);
            format!("its header is not understood at `{rest}`")
        })
    }
}

/// The text that is still to be read.
struct LiteralCursor<'a> {
    text: &'a [u8],
}

impl LiteralCursor<'_> {
    fn entries(&mut self) -> Option<Vec<(String, PythonLiteral)>> {
        let mut entries = Vec::new();
        self.skip(b"{")?;
        while self.skip(b"}").is_none() {
            let key = self.quoted()?;
            self.skip(b":")?;
            entries.push((key, self.value()?));
            if self.skip(b",").is_none() {
                self.skip(b"}")?;
                break;
            }
        }
        Some(entries)
    }

    fn value(&mut self) -> Option<PythonLiteral> {
        match self.text.first()? {
            b'\'' | b'"' => self.quoted().map(PythonLiteral::Text),
            b'T' => self.skip(b"True").map(|()| PythonLiteral::Bool(true)),
            b'F' => self.skip(b"False").map(|()| PythonLiteral::Bool(false)),
            b'(' => self.tuple().map(PythonLiteral::Tuple),
            b'[' => {
                let end = self.text.iter().rposition(|byte| *byte == b']')?;
                self.advance(end + 1);
                Some(PythonLiteral::List)
            }
            _ => None,
        }
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut sizes = Vec::new();
        self.skip(b"(")?;
        while self.skip(b")").is_none() {
            let digits = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let size = std::str::from_utf8(&self.text[..digits]).ok()?;
            sizes.push(size.parse().ok()?);
            self.advance(digits);
            // As Python 2 wrote long numbers.
            let _ = self.skip(b"L");
            if self.skip(b",").is_none() {
                self.skip(b")")?;
                break;
            }
        }
        Some(sizes)
    }

    /// A text without escapes, which no name in a header has.
    fn quoted(&mut self) -> Option<String> {
        let (quote, rest) = self.text.split_first().filter(|(first, _)| b"'\"".contains(*first))?;
        let end = rest.iter().position(|byte| byte == quote)?;
        let text = std::str::from_utf8(&rest[..end]).ok().filter(|text| !text.contains('\\'))?;
        let text = text.to_owned();
        self.advance(end + 2);
        Some(text)
    }

    /// Goes past a word, and the blanks after it, if it is the next one.
    fn skip(&mut self, word: &[u8]) -> Option<()> {
        self.text = self.text.strip_prefix(word)?.trim_ascii_start();
        Some(())
    }

    fn advance(&mut self, count: usize) {
        self.text = self.text[count..].trim_ascii_start();
    }
}
