//! JSON, as far as the page's data needs it: objects, arrays, texts, whole numbers.

use std::fmt::Write;

/// JSON in the making. Each call writes one value.
#[derive(Debug, Default)]
pub(super) struct Json {
    text: String,
    /// Whether something stands before the next value, which a comma must follow.
    follows: bool,
}

impl Json {
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// The name of the next value in an object.
    pub(super) fn key(&mut self, name: &str) -> &mut Json {
        self.text(name);
        self.text.push(':');
        self.follows = false;
        self
    }

    pub(super) fn object(&mut self, write: impl FnOnce(&mut Json)) {
        self.nested(['{', '}'], write);
    }

    pub(super) fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Json, T),
    ) {
        self.nested(['[', ']'], |json| items.into_iter().for_each(|item| write(json, item)));
    }

    pub(super) fn number(&mut self, number: u64) {
        self.begin();
        write!(self.text, "{number}").expect("a string takes whatever is written to it");
    }

    pub(super) fn optional(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => {
                self.begin();
                self.text.push_str("null");
            }
        }
    }

    /// A text, written so that it can stand in a script of an HTML page.
    pub(super) fn text(&mut self, text: &str) {
        self.begin();
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                // The end of the script, or of a comment in it.
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\u{20}' => {
                    write!(self.text, "\\u{:04x}", u32::from(character))
                        .expect("a string takes whatever is written to it");
                }
                character => self.text.push(character),
            }
        }
        self.text.push('"');
    }

    fn nested(&mut self, [open, close]: [char; 2], write: impl FnOnce(&mut Json)) {
        self.begin();
        self.text.push(open);
        self.follows = false;
        write(self);
        self.text.push(close);
        self.follows = true;
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.text.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_separated_and_nested() {
        let mut json = Json::default();
        json.object(|json| {
            json.key("a").array([Some(1), None], Json::optional);
            json.key("b").object(|_| ());
            json.key("c").number(u64::MAX);
        });
        assert_eq!(json.finish(), r#"{"a":[1,null],"b":{},"c":18446744073709551615}"#);
    }

    #[test]
    fn no_text_ends_the_script_around_it() {
        let mut json = Json::default();
        json.text("</script>\"\\\n\u{1}");
        assert_eq!(json.finish(), r#""\u003c/script\u003e\"\\\n\u0001""#);
    }
}
