//! The contents of a crate's sources: its public functions, which of its files import which, and
//! the names of its types.
//!
//! [`functions`] has what a program can call. `tests/misuse` makes an entry of each function whose
//! arguments it can draw, and `cargo xtask tidy` finds those that are tried nowhere. Both read the
//! sources here, since what rustdoc writes for programs needs a nightly toolchain. [`imports`],
//! [`type_names`] and [`variables`] are for the rules of `cargo xtask tidy` about layers, names and
//! the environment.
//!
//! What macros make is not seen, nor are implementations of traits; the methods that a public trait
//! declares are.
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   declared, entry, imports, names, types
//   function, scope
//   environment
//   modules, paths
//   text
mod declared;
mod entry;
mod environment;
mod function;
mod imports;
mod modules;
mod names;
mod paths;
mod scope;
mod text;
mod types;

use std::collections::BTreeSet;

use proc_macro2::{LexError, TokenStream};

use self::scope::ModuleScopes;

pub use function::{FunctionArgument, PublicFunction, Receiver};
pub use imports::Import;
pub use modules::UnreadableSource;
pub use types::TypeName;

/// The public functions of a crate in the order of their paths. `name` is the crate's in Rust,
/// `root` the file of its root module, and `read` gives a file's text if there is such a file.
///
/// # Errors
/// A module's file is missing or cannot be parsed.
pub fn functions(
    name: &str,
    root: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<PublicFunction>, UnreadableSource> {
    let modules = modules::load(root, read, modules::is_hidden)?;
    let scopes = ModuleScopes::new(&modules);
    let names = names::public(name, &modules, &scopes);
    let mut functions = declared::functions(&modules, &scopes, &names);
    functions.sort_by(|a, b| a.path.cmp(&b.path));
    functions.dedup_by(|a, b| a.path == b.path);
    Ok(functions)
}

/// The imports between the files of a crate, each pair of files once, without those of tests.
///
/// Imports of whole modules count where something of them is used. Calls of methods are not seen.
///
/// # Errors
/// A module's file is missing or cannot be parsed.
pub fn imports(
    root: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Import>, UnreadableSource> {
    Ok(imports::between_files(&modules::load(root, read, modules::is_of_tests)?))
}

/// The names of all types and traits that the modules of a crate declare, without those of tests.
///
/// # Errors
/// A module's file is missing or cannot be parsed.
pub fn type_names(
    root: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<TypeName>, UnreadableSource> {
    Ok(types::names(&modules::load(root, read, modules::is_of_tests)?))
}

/// The variables of the environment that a file reads, with those that only tests read: the names
/// that stand in it in capitals and are handed to a function.
///
/// # Errors
/// The text cannot be parsed.
pub fn variables(file: &str, text: &str) -> Result<BTreeSet<String>, UnreadableSource> {
    let code = text.parse::<TokenStream>();
    let unreadable =
        |error: LexError| UnreadableSource { file: file.into(), reason: error.to_string() };
    Ok(environment::variables(code.map_err(unreadable)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<PublicFunction> {
        let read = |path: &str| {
            files.iter().find(|(file, _)| *file == path).map(|(_, text)| (*text).to_owned())
        };
        functions("shop", "src/lib.rs", &read).expect("the sources are whole")
    }

    fn paths(files: &[(&str, &str)]) -> Vec<String> {
        of(files).into_iter().map(|function| function.path).collect()
    }

    #[test]
    fn what_is_named_from_the_root_is_public_wherever_it_is_written() {
        let files = [
            (
                "src/lib.rs",
                "mod deep; pub mod open; mod hidden; pub use deep::{Thing, make};\n\
                 use deep::shut;",
            ),
            ("src/deep/mod.rs", "mod inner; pub use inner::{Thing, make}; pub fn shut(a: u8) {}"),
            (
                "src/deep/inner.rs",
                "pub struct Thing; impl Thing { pub fn new(a: u8) -> Thing { Thing } fn own(&self) {}\
                 pub(crate) fn near(&self) {} } pub fn make(a: u8) {}",
            ),
            ("src/open.rs", "pub fn walk(a: u8) {} pub trait Door { fn open(&self, wide: bool); }"),
            ("src/hidden.rs", "pub struct Lost; impl Lost { pub fn find(a: u8) {} }"),
        ];
        let expected =
            ["shop::Thing::new", "shop::make", "shop::open::Door::open", "shop::open::walk"];
        assert_eq!(paths(&files), expected);
    }

    #[test]
    fn methods_are_found_wherever_the_implementation_is_written() {
        let files = [
            ("src/lib.rs", "mod thing; mod more; pub use thing::Thing as Item;"),
            ("src/thing.rs", "pub struct Thing;"),
            (
                "src/more.rs",
                "use crate::thing::Thing; impl Thing { pub fn add<'a>(&self, a: &'a [ &Thing ]) {} }",
            ),
        ];
        let found = of(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, "shop::Item::add");
        assert_eq!((found[0].file.as_str(), found[0].line), ("src/more.rs", 1));
        let kinds: Vec<_> = found[0].arguments.iter().map(|a| (&*a.name, &*a.kind)).collect();
        assert_eq!(kinds, [("a", "&[&Thing]")]);
        assert!(!found[0].is_generic, "a lifetime is no parameter that a caller settles");
        let receiver = found[0].receiver.as_ref().expect("it is a method");
        assert_eq!((receiver.path.as_str(), receiver.taken.as_str()), ("shop::Item", "&self"));
    }

    #[test]
    fn what_only_tests_and_documentation_have_is_left_out() {
        let text = "#[cfg(test)] mod tests { pub fn f(a: u8) {} } #[doc(hidden)] pub fn g(a: u8) {}\
                    #[cfg(test)] pub fn h(a: u8) {} pub fn kept(a: u8) {}";
        assert_eq!(paths(&[("src/lib.rs", text)]), ["shop::kept"]);
    }

    #[test]
    fn parameters_that_arguments_do_not_settle_are_told() {
        let text = "pub fn a<T: Copy>() -> T { todo!() } pub fn b(f: impl FnOnce() -> u8) {}\
                    pub fn c<R>(f: impl FnOnce() -> R) -> R { f() } pub unsafe fn d(p: *const u8) {}";
        let found = of(&[("src/lib.rs", text)]);
        let told: Vec<_> = found.iter().map(|f| (f.is_generic, f.is_unsafe)).collect();
        assert_eq!(told, [(true, false), (false, false), (false, false), (false, true)]);
        assert_eq!(found[1].arguments[0].kind, "impl FnOnce()->u8");
    }

    #[test]
    fn a_missing_module_is_an_error_that_names_the_file() {
        let error = functions("shop", "src/lib.rs", &|_| None).expect_err("there are no files");
        assert_eq!(error.file, "src/lib.rs");
        let read = |path: &str| (path == "src/lib.rs").then(|| "mod gone;".to_owned());
        let error = functions("shop", "src/lib.rs", &read).expect_err("a module is missing");
        assert!(error.file.contains("gone"), "{error}");
    }
}
