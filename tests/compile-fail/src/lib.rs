//! Programs that must not compile, and what the compiler says of them: whoever makes such a mistake
//! is told what to write.
//!
//! The programs are in `tests/programs`, each beside what the compiler says. After a change that is
//! meant, `UPDATE_EXPECT=1 cargo test -p compile-fail` writes it anew. The texts are those of the
//! toolchain that `rust-version` in the workspace's `Cargo.toml` names.
//!
//! The programs are compiled against the very crates that the tests are linked with. A build of
//! their own would compile all dependencies once more, which takes minutes.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// The arguments by which the compiler that expands this finds the crates that its crate depends on:
/// an array of strings, `-L` and `--extern` each before its value.
///
/// No other stable interface says which of the files in the target folder belong together.
#[proc_macro]
pub fn crates_in_use(_: TokenStream) -> TokenStream {
    let arguments: Vec<String> = std::env::args().collect();
    let is_for_crates = |pair: &&[String]| pair[0] == "-L" || pair[0] == "--extern";
    let pairs = arguments.windows(2).filter(is_for_crates);
    let words: Vec<String> = pairs.flatten().map(|word| format!("{word:?}")).collect();
    // What the compiler has printed as a string is read as one.
    format!("[{}]", words.join(", ")).parse().expect("strings in an array are an expression")
}
