//! The types and traits that the modules of a crate declare.

use syn::Item;

use crate::modules::CrateModule;

/// The name of a struct, an enum, a trait, a union or a type alias, where it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// The name itself.
    pub name: String,
    /// The file that declares it.
    pub file: String,
    /// The line in that file, from 1.
    pub line: usize,
}

/// All names of structs, enums, traits, unions and type aliases. What a function or an
/// implementation declares for itself does not count.
pub(crate) fn names(modules: &[CrateModule]) -> Vec<TypeName> {
    let mut names = Vec::new();
    for module in modules {
        for item in &module.items {
            let (keyword, name) = match item {
                Item::Enum(item) => ("enum", &item.ident),
                Item::Struct(item) => ("struct", &item.ident),
                Item::Trait(item) => ("trait", &item.ident),
                Item::Type(item) => ("type", &item.ident),
                Item::Union(item) => ("union", &item.ident),
                _ => continue,
            };
            let (name, file) = (name.to_string(), module.file.clone());
            names.push(TypeName { line: module.line_of(keyword, &name), name, file });
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use crate::type_names;

    #[test]
    fn each_kind_of_type_is_found_with_its_line() {
        let text = "pub struct Shape;\nenum Kind { One }\ntrait Draw { type Output; }\n\
                    union Bits { a: u8 }\ntype Result<T> = Option<T>;\nmod deep { struct Last; }\n";
        let found = type_names("lib.rs", &|_| Some(text.to_owned())).expect("it can be parsed");
        let found: Vec<_> = found.iter().map(|found| (found.line, found.name.as_str())).collect();
        let expected =
            [(1, "Shape"), (2, "Kind"), (3, "Draw"), (4, "Bits"), (5, "Result"), (6, "Last")];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_functions_implementations_and_tests_declare_does_not_count() {
        let text = "fn f() { struct Local; } impl Draw for u8 { type Output = u8; }\
                    #[cfg(test)] mod tests { struct Fake; } #[cfg(any(test, fuzzing))] struct Odd;";
        let found = type_names("lib.rs", &|_| Some(text.to_owned())).expect("it can be parsed");
        assert_eq!(found, []);
    }
}
