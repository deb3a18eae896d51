//! Source in one way of writing it, to be compared.

use quote::ToTokens;

/// A piece of source in one way of writing it: without lifetimes and needless blanks.
pub(crate) fn text(tokens: &impl ToTokens) -> String {
    let written = tokens.to_token_stream().to_string();
    let words = written.split_whitespace().filter(|word| !word.starts_with('\''));
    let mut text = String::new();
    for word in words {
        let joins = |c: char| c.is_alphanumeric() || c == '_';
        if text.ends_with(joins) && word.starts_with(joins) {
            text.push(' ');
        }
        text.push_str(word);
    }
    let text = text.replace("<>", "").replace("<,", "<").replace(",>", ">").replace("+>", ">");
    text.trim_end_matches('+').to_owned()
}
