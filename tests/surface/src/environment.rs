//! The variables of the environment that a file reads.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::paths::paths;

/// The functions by which a file reads variables, or which it hands on for that.
const READS: [[&str; 2]; 2] = [["env", "var"], ["env", "var_os"]];
const READS_LATER: &str = "fn from_variables";

/// Words before arguments that are no names of variables to read: calls by which one is set for a
/// process that is started, calls that take a message, and a keyword.
const NO_READS: [&str; 5] = ["contains", "env", "env_remove", "expect", "in"];

/// The names of all variables: the literals in capitals that are handed to a function or are the
/// value of a constant, in a file that reads the environment at all.
pub(crate) fn variables(code: TokenStream) -> BTreeSet<String> {
    let reads =
        |path: &Vec<String>| READS.iter().any(|read| path.ends_with(&read.map(String::from)));
    let mut found = BTreeSet::new();
    if paths(code.clone()).iter().any(reads) || code.to_string().contains(READS_LATER) {
        add_variables(code, false, &mut found);
    }
    found
}

/// `is_call`: whether these are the arguments of a function.
fn add_variables(code: TokenStream, is_call: bool, found: &mut BTreeSet<String>) {
    let (mut earlier, mut before) = (None, None);
    for token in code {
        match &token {
            TokenTree::Group(group) => {
                let is_call = match &before {
                    Some(TokenTree::Ident(called)) => !NO_READS.iter().any(|other| called == other),
                    _ => false,
                };
                add_variables(group.stream(), is_call, found);
            }
            TokenTree::Literal(literal) => {
                let is_value = is_mark(before.as_ref(), '=') && !is_mark(earlier.as_ref(), '=');
                let is_argument = is_call && (before.is_none() || is_mark(before.as_ref(), ','));
                found.extend(variable(&literal.to_string()).filter(|_| is_argument || is_value));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
        earlier = before.replace(token);
    }
}

fn is_mark(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == expected)
}

/// The name that a literal in capitals has.
fn variable(literal: &str) -> Option<String> {
    let name = literal.strip_prefix('"')?.strip_suffix('"')?;
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_name = name.len() > 2 && name.starts_with(char::is_alphabetic);
    (is_name && name.chars().all(is_capital)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        variables(code.parse().expect("these are tokens")).into_iter().collect()
    }

    #[test]
    fn what_is_read_by_name_by_constant_or_by_a_helper_is_found() {
        assert_eq!(found("f(std::env::var_os(\"GPU_DRIVER\"))"), ["GPU_DRIVER"]);
        assert_eq!(found("const V: &str = \"PATH\"; fn f() { env::var(V) }"), ["PATH"]);
        let helper = "let number = |name| env::var(name); number(\"SEED\").or(number(\"CALLS\"))";
        assert_eq!(found(helper), ["CALLS", "SEED"]);
        let later = "fn from_variables(get: impl Fn()) { read.set(&mut a, \"WORKERS\", 1) }";
        assert_eq!(found(later), ["WORKERS"]);
    }

    #[test]
    fn what_is_set_for_others_and_what_is_no_name_is_not() {
        let set = "env::var(name); command.env(\"GPU_DRIVER\", x).env_remove(\"PATH\")";
        assert_eq!(found(set), [""; 0]);
        assert_eq!(
            found("env::var(n).expect(\"it is set\"); f(\"A\"); g(&[(\"NAME\", 1)])"),
            [""; 0]
        );
        assert_eq!(found("f(env::var(n) == \"EAGER\"); for v in [\"PATH\"] {}"), [""; 0]);
        assert_eq!(found("f(\"GPU_DRIVER\"); env!(\"OUT_DIR\")"), [""; 0]);
    }
}
