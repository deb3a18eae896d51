//! Whatever is done to a text: it is refused with an error, or it can be translated.

use proptest::prelude::*;
use proptest::sample::Index;
use test_support::PTX_TEXTS;

use crate::abi::CheckLevel;
use crate::ir::WarpShape;
use crate::program::{Execution, Program};

/// A text cut into pieces that a mutation may exchange: words with their dots, numbers, single
/// characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
        let length = match word(first) {
            true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        pieces.push(&rest[..length]);
        rest = &rest[length..];
    }
    pieces
}

/// Parts of opcodes, which no replacement of whole pieces mixes.
const PARTS: [&str; 24] = [
    ".u32",
    ".s32",
    ".b32",
    ".u64",
    ".b64",
    ".f32",
    ".f64",
    ".f16",
    ".b16",
    ".pred",
    ".sat",
    ".ftz",
    ".rn",
    ".rz",
    ".rni",
    ".v2",
    ".v4",
    ".global",
    ".shared",
    ".local",
    ".param",
    ".volatile",
    ".cc",
    ".wide",
];

/// What is done to a piece, chosen by a number.
fn mutate(pieces: &mut [String], at: usize, with: usize, kind: u8) {
    match kind % 5 {
        0 => pieces[at] = pieces[with].clone(),
        1 => pieces[at].clear(),
        2 => pieces.swap(at, with),
        3 => pieces[at].push_str(PARTS[with % PARTS.len()]),
        _ => {
            let places: Vec<usize> =
                pieces[at].match_indices('.').map(|(place, _)| place).collect();
            if let Some(&place) = places.get(with % places.len().max(1)) {
                let end = pieces[at][place + 1..]
                    .find('.')
                    .map_or(pieces[at].len(), |next| place + 1 + next);
                pieces[at].replace_range(place..end, PARTS[with % PARTS.len()]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_mutated_module_is_refused_or_translated(
        text in 0..PTX_TEXTS.len(),
        changes in prop::collection::vec(any::<(Index, Index, u8)>(), 1..4),
    ) {
        let mut pieces: Vec<String> = pieces(PTX_TEXTS[text]).into_iter().map(str::to_owned).collect();
        for (at, with, kind) in changes {
            let (at, with) = (at.index(pieces.len()), with.index(pieces.len()));
            mutate(&mut pieces, at, with, kind);
        }
        let mutated = pieces.concat();
        if let Ok(program) = Program::load(&mutated) {
            for name in program.kernel_names() {
                let kernel = program.kernel(name).expect("it was just listed");
                if let Err(error) = kernel.compile(CheckLevel::Window, Execution::Warps(WarpShape::Rows(32))) {
                    prop_assert!(false, "{error}");
                }
            }
        }
    }
}
