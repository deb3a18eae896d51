//! The paths and the names that stand in a piece of code, arguments of macros among them.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

/// All paths of two segments and more: `crate::shape::Shape` and the like. Of a declaration
/// `use a::{b, c::d}` within a function these are `a::b` and `a::c::d`.
pub(crate) fn paths(code: TokenStream) -> Vec<Vec<String>> {
    let mut reader = PathReader::default();
    reader.read(code, &[]);
    reader.paths
}

/// All identifiers.
pub(crate) fn words(code: TokenStream) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    add_words(code, &mut words);
    words
}

fn add_words(code: TokenStream, words: &mut BTreeSet<String>) {
    for token in code {
        match token {
            TokenTree::Ident(word) => {
                words.insert(word.to_string());
            }
            TokenTree::Group(group) => add_words(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Puts segments together to paths, token by token.
#[derive(Default)]
struct PathReader {
    paths: Vec<Vec<String>>,
    /// The segments of the path that is being read.
    segments: Vec<String>,
    /// The colons since its last segment.
    colons: usize,
    /// Whether the next word is only the new name that a `use` gives.
    is_renamed: bool,
}

impl PathReader {
    /// Reads code in which each path goes on from `prefix`: that of a group in a `use`.
    fn read(&mut self, code: TokenStream, prefix: &[String]) {
        for token in code {
            match token {
                TokenTree::Ident(word) => self.word(word.to_string(), prefix),
                TokenTree::Punct(mark) if mark.as_char() == ':' => self.colons += 1,
                TokenTree::Group(group) => {
                    let goes_on = self.colons == 2;
                    let begun = std::mem::take(&mut self.segments);
                    let (before, whole) = if goes_on { (begun, vec![]) } else { (vec![], begun) };
                    self.end(whole);
                    self.read(group.stream(), &before);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.finish(),
            }
        }
        self.finish();
    }

    fn word(&mut self, word: String, prefix: &[String]) {
        if std::mem::take(&mut self.is_renamed) {
            return;
        }
        if self.colons != 2 {
            self.finish();
        }
        if word == "as" {
            self.is_renamed = !prefix.is_empty();
            return;
        }
        if self.segments.is_empty() {
            self.segments = prefix.to_vec();
        }
        self.segments.push(word);
        self.colons = 0;
    }

    fn finish(&mut self) {
        let path = std::mem::take(&mut self.segments);
        self.end(path);
    }

    fn end(&mut self, path: Vec<String>) {
        self.colons = 0;
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        let code = code.parse().expect("these are tokens");
        paths(code).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn a_path_is_what_double_colons_join() {
        assert_eq!(found("let a: b::c = d { e: ::f::g };"), ["b::c", "f::g"]);
        assert_eq!(found("a.b(c, d); e: f"), [""; 0]);
    }

    #[test]
    fn arguments_of_functions_types_and_macros_are_read() {
        assert_eq!(found("a::b(c::d(e::f::<g::h>::i))"), ["a::b", "c::d", "e::f", "g::h"]);
        assert_eq!(found("m::n! { [a::b, c => d::e] }"), ["m::n", "a::b", "d::e"]);
    }

    #[test]
    fn groups_of_a_use_in_a_function_go_on_from_what_is_before_them() {
        let code = "use a::{b, c::{d as e, f}, self as g}; h as i::j";
        assert_eq!(found(code), ["a::b", "a::c::d", "a::c::f", "a::self", "i::j"]);
    }
}
