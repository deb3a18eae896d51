//! The uses, in each file of a crate, of items that other files declare.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Item, Visibility};

use crate::modules::CrateModule;
use crate::paths::{paths, words};
use crate::scope::{ModuleScopes, imported};

/// A use in one file of a crate of an item that another one declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The file that uses it.
    pub from: String,
    /// The file that declares it. Names that a module only passes on (`pub use`) lead to the file
    /// behind it.
    pub to: String,
    /// The names of what is used, in their order.
    pub names: Vec<String>,
}

/// All imports between the files of a crate, each pair of files once.
pub(crate) fn between_files(modules: &[CrateModule]) -> Vec<Import> {
    let scopes = ModuleScopes::new(modules);
    let mut found = BTreeMap::<_, BTreeSet<String>>::new();
    for (here, module) in modules.iter().enumerate() {
        for path in used_by(module) {
            let Some((target, name)) = scopes.declaration(here, &path) else { continue };
            let (from, to) = (&module.file, &modules[target].file);
            if from != to {
                found.entry((from.clone(), to.clone())).or_default().insert(name);
            }
        }
    }
    let import = |((from, to), names): ((String, String), BTreeSet<String>)| Import {
        from,
        to,
        names: names.into_iter().collect(),
    };
    found.into_iter().map(import).collect()
}

/// The paths of all that the code of a module uses.
///
/// A plain `use` is for something: what it names counts even where no word of the code shows it, as
/// for a trait whose methods are called. A re-export is for others, and a glob for nobody knows
/// what; of these the names count that the code says, which are therefore paths here, too.
fn used_by(module: &CrateModule) -> Vec<Vec<String>> {
    let mut code = TokenStream::new();
    let mut used = Vec::new();
    for item in &module.items {
        match item {
            // Its content is a module of its own.
            Item::Mod(_) => {}
            Item::Use(item) if matches!(item.vis, Visibility::Inherited) => {
                used.extend(imported(&item.tree).into_iter().map(|(path, _)| path));
            }
            Item::Use(_) => {}
            item => item.to_tokens(&mut code),
        }
    }
    used.extend(words(code.clone()).into_iter().map(|word| vec![word]));
    used.extend(paths(code));
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::{self, is_of_tests};

    /// The imports of a crate of these files, each as `from -> to: names`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &str| {
            files.iter().find(|(file, _)| *file == path).map(|(_, text)| (*text).to_owned())
        };
        let modules =
            modules::load("src/lib.rs", &read, is_of_tests).expect("the sources are whole");
        let shown = |import: Import| {
            format!("{} -> {}: {}", import.from, import.to, import.names.join(" "))
        };
        between_files(&modules).into_iter().map(shown).collect()
    }

    #[test]
    fn a_use_leads_to_the_file_that_declares_the_name() {
        let files = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use std::fmt; use crate::b::{Thing, make as build};"),
            ("src/b.rs", "pub struct Thing; pub fn make() {} fn own() { make() }"),
        ];
        assert_eq!(found(&files), ["src/a.rs -> src/b.rs: Thing make"]);
    }

    #[test]
    fn reexports_are_followed() {
        let files = [
            ("src/lib.rs", "mod a; mod room; pub use room::Thing as Item;"),
            ("src/a.rs", "use crate::{Item, room::make};"),
            ("src/room/mod.rs", "mod inner; pub(crate) use self::inner::*;"),
            ("src/room/inner.rs", "pub struct Thing; pub fn make() {}"),
        ];
        assert_eq!(found(&files), ["src/a.rs -> src/room/inner.rs: Thing make"]);
    }

    #[test]
    fn a_front_imports_only_what_its_own_code_names() {
        let front = "mod inner; pub use inner::{Thing, make}; fn f(thing: Thing) {}";
        let files = [
            ("src/lib.rs", "mod room;"),
            ("src/room/mod.rs", front),
            ("src/room/inner.rs", "pub struct Thing; pub fn make() {}"),
        ];
        assert_eq!(found(&files), ["src/room/mod.rs -> src/room/inner.rs: Thing"]);
    }

    #[test]
    fn a_module_that_is_only_named_is_not_imported_yet() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c;"),
            ("src/a.rs", "use crate::b;"),
            ("src/b.rs", "use super::c; fn f() { c::work() }"),
            ("src/c.rs", "pub fn work() {}"),
        ];
        assert_eq!(found(&files), ["src/b.rs -> src/c.rs: work"]);
    }

    #[test]
    fn paths_in_code_and_in_the_arguments_of_macros_are_seen() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c;"),
            (
                "src/a.rs",
                "fn f() { use crate::b::{Thing, Kind}; println!(\"{}\", crate::c::SIZE); }",
            ),
            ("src/b.rs", "pub struct Thing; pub enum Kind { One }"),
            ("src/c.rs", "pub const SIZE: usize = 1;"),
        ];
        assert_eq!(
            found(&files),
            ["src/a.rs -> src/b.rs: Kind Thing", "src/a.rs -> src/c.rs: SIZE"]
        );
    }

    #[test]
    fn what_follows_after_an_item_is_left_aside() {
        let files = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "fn f() { super::b::Kind::One.g(super::b::Kind::new()) }"),
            ("src/b.rs", "pub enum Kind { One }"),
        ];
        assert_eq!(found(&files), ["src/a.rs -> src/b.rs: Kind"]);
    }

    #[test]
    fn of_a_glob_the_names_count_that_the_code_says() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c;"),
            ("src/a.rs", "use crate::b::*; use crate::c::*; fn f(thing: Thing) {}"),
            ("src/b.rs", "pub struct Thing; pub struct Other;"),
            ("src/c.rs", "pub struct Last;"),
        ];
        assert_eq!(found(&files), ["src/a.rs -> src/b.rs: Thing"]);
    }

    #[test]
    fn macros_and_what_they_declare_belong_to_the_file_that_they_stand_in() {
        let files = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "fn f() { crate::shown!(); crate::b::made(); crate::b::near!() }"),
            (
                "src/b.rs",
                "#[macro_export] macro_rules! shown { () => {} } declare! { fn made() {} }\
                 macro_rules! near { () => {} } pub(crate) use near;",
            ),
        ];
        assert_eq!(found(&files), ["src/a.rs -> src/b.rs: made near shown"]);
    }

    #[test]
    fn tests_may_import_everything() {
        let files = [
            ("src/lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
            (
                "src/a.rs",
                "#[cfg(test)] mod tests { use crate::b::Thing; } #[cfg(test)] use crate::b::Thing;\
                 struct A; impl A { #[cfg(test)] fn f() { crate::b::Thing::new() } }",
            ),
            ("src/b.rs", "pub struct Thing;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn other_crates_and_circles_of_imports_lead_nowhere() {
        let files = [
            ("src/lib.rs", "mod a; mod b; pub use std::fmt::Debug;"),
            ("src/a.rs", "pub use crate::b::lost; use anyhow::anyhow; fn f() { lost() }"),
            ("src/b.rs", "pub use crate::a::lost; use crate::Debug; fn f() -> anyhow::Error {}"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
