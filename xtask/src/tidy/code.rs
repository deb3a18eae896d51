//! Rust source as a compiler sees it: without comments, strings and characters.

/// `text` with blanks in the place of comments and literals, so that lines keep their numbers.
pub(super) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let in_word = code.ends_with(is_word);
        let length = hidden(rest, in_word);
        if length == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            let (literal, after) = rest.split_at(length);
            code.extend(literal.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// The identifiers, keywords and numbers in a line of code.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the comment or literal that `text` begins with, 0 if it begins with none.
fn hidden(text: &str, in_word: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if in_word { 0 } else { raw_string(text) }
}

/// Comments in `/* */` nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        match rest {
            _ if rest.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            _ if rest.starts_with("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => quoted(text, '\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// `r"…"`, `br#"…"#` and the like.
fn raw_string(text: &str) -> usize {
    let Some(marked) = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix)) else {
        return 0;
    };
    let marks = marked.len() - marked.trim_start_matches('#').len();
    let Some(inside) = marked[marks..].strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(marks));
    let before = text.len() - inside.len();
    inside.find(&end).map_or(text.len(), |length| before + length + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        for (text, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("a\"b", c)"#, "f(      , c)"),
            (r###"f(r#"a"b"#, br"\", c)"###, "f(        ,      , c)"),
            (r"f('x', '\'', '\u{41}')", "f(   ,     ,         )"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("for r in 0..3", "for r in 0..3"),
            ("\"open", "     "),
        ] {
            assert_eq!(code(text), expected);
        }
    }

    #[test]
    fn words_are_split_at_everything_else() {
        let found: Vec<_> = words("unsafe { (d.cuInit)(0) }; r#type").collect();
        assert_eq!(found, ["unsafe", "d", "cuInit", "0", "r", "type"]);
    }
}
