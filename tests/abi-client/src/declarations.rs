//! Reads the constants and functions out of what bindgen wrote.

use std::collections::BTreeMap;

/// The declarations of a header: values of constants and types of functions, by name.
pub type Declarations = BTreeMap<String, String>;

/// The constants and the members of enumerations, with their values.
pub fn constants(text: &str) -> Declarations {
    let text = on_one_line(text);
    let mut values = Declarations::new();
    let mut aliases = Vec::new();
    for (name, value) in text.split([';', ',', '{', '}']).filter_map(constant) {
        match number(value) {
            Some(number) => drop(values.insert(name.into(), number.into())),
            None => aliases.push((name, value.rsplit("::").next().unwrap_or(value))),
        }
    }
    for (name, meant) in aliases {
        if let Some(value) = values.get(meant).cloned() {
            values.insert(name.into(), value);
        }
    }
    values
}

/// The functions, with the types of their arguments and of what they return.
pub fn functions(text: &str) -> Declarations {
    let text = on_one_line(text).replace("::std::os::raw::", "");
    let declared = text.split("fn cu").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once('(')?;
        let (arguments, rest) = rest.split_once(')')?;
        let result = rest.trim_start().strip_prefix("->")?.split(';').next()?.trim();
        let types = arguments.split(',').filter_map(|argument| argument.split_once(':'));
        let types: Vec<_> = types.map(|(_name, kind)| kind.trim()).collect();
        Some((format!("cu{name}"), format!("({}) -> {result}", types.join(", "))))
    });
    declared.collect()
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Name and value of `pub const NAME: TYPE = VALUE` or, in an enumeration, `NAME = VALUE`.
fn constant(piece: &str) -> Option<(&str, &str)> {
    // What stands before the declaration is a comment.
    let declared = piece.rsplit("pub const ").next().unwrap_or(piece);
    let (name, value) = declared.trim_start().split_once(" = ")?;
    let name = name.split(':').next().unwrap_or(name);
    let is_name = name.starts_with("CU") && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some((name, value.trim()))
}

/// 8 of `8`, `Self(8)` or `CUdevice_attribute(8)`.
fn number(value: &str) -> Option<&str> {
    let inside = value.split_once('(').map_or(value, |(_, inside)| inside.trim_end_matches(')'));
    inside.parse::<i64>().is_ok().then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_constants_are_read() {
        let theirs =
            "pub const CU_A: u32 = 1;\npub enum CUe_enum {\n    CU_B = 2,\n}\nimpl CUe_enum {
            pub const CU_C: CUe_enum =\n        CUe_enum::CU_B;\n}";
        let ours = "pub const CU_A: u32 = 1;\nimpl CUe {\n    pub const CU_B: Self = Self(2);
            pub const CU_C: CUe =\n        CUe(2);\n}";
        assert_eq!(constants(theirs), constants(ours));
        assert_eq!(constants(theirs).into_values().collect::<Vec<_>>(), ["1", "2", "2"]);
    }

    #[test]
    fn both_ways_to_write_functions_are_read() {
        let theirs =
            "extern \"C\" {\n    pub fn cuF(a: ::std::os::raw::c_int,\n        b: *mut CUe,
            ) -> CUresult;\n}";
        let ours = "fn cuF(\n    count: c_int,\n    e: *mut CUe\n) -> CUresult;";
        assert_eq!(functions(theirs), functions(ours));
        assert_eq!(functions(ours)["cuF"], "(c_int, *mut CUe) -> CUresult");
    }
}
