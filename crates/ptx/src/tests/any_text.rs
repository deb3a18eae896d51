//! Any text is refused with a place in it, or read.

use proptest::prelude::*;
use proptest::sample::Index;
use test_support::PTX_TEXTS;

use crate::{Module, parse};

/// Words of which sentences are made that look like PTX.
const WORDS: [&str; 43] = [
    ".entry",
    ".func",
    "k",
    "f",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    ".param",
    ".u64",
    ".b8",
    ".reg",
    "%r",
    "<",
    ">",
    "4",
    "-1",
    "0f3F800000",
    "mov.b32",
    "add.s32",
    "ld.global.v2.f32",
    "bra",
    "call",
    "@",
    "!",
    "%p1",
    "|",
    "setp.lt.s32",
    "bar.sync",
    "0",
    ".shared",
    ".align",
    ".global",
    "=",
    "generic",
    "+",
    "\"s\"",
    "atom.add.u32",
];

/// The kernels of a module and how long they are.
fn kernels(module: &Module) -> Vec<(&str, usize)> {
    let kernels = module.functions.iter().filter(|function| function.is_kernel);
    kernels.map(|kernel| (kernel.name.as_str(), kernel.body.len())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_module_cut_short_is_refused_or_has_the_declarations_up_to_there(
        text in 0..PTX_TEXTS.len(),
        at: Index,
    ) {
        let whole = parse(PTX_TEXTS[text]).expect("it is what nvcc made");
        let cut = &PTX_TEXTS[text][..at.index(PTX_TEXTS[text].len())];
        match parse(cut) {
            Err(error) => {
                prop_assert!(error.line >= 1 && error.line as usize <= cut.lines().count() + 1);
            }
            Ok(module) => {
                // No function is cut through, and none is lost or made up.
                prop_assert_eq!(cut.matches('{').count(), cut.matches('}').count());
                prop_assert_eq!(cut.matches("\n.visible .entry ").count(), kernels(&module).len());
                prop_assert!(kernels(&whole).starts_with(&kernels(&module)));
                let names = |module: &Module| -> Vec<String> {
                    module.variables.iter().map(|variable| variable.name.clone()).collect()
                };
                prop_assert!(names(&whole).starts_with(&names(&module)));
            }
        }
    }

    #[test]
    fn any_text_is_refused_with_a_place_in_it(text in "[\\PC\n]{0,200}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.line >= 1 && error.line as usize <= text.lines().count() + 1);
        }
    }

    #[test]
    fn any_sequence_of_words_is_refused_or_parsed(
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60),
    ) {
        let _ = parse(&words.join(" "));
    }
}
