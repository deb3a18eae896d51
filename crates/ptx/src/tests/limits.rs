//! A small text asks for little: what it costs to read follows from its length.

use crate::{ErrorKind, parse};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn refused(text: &str) -> ErrorKind {
    match parse(&format!("{HEAD}{text}")) {
        Ok(_) => panic!("it is accepted: {text}"),
        Err(error) => error.kind,
    }
}

#[test]
fn a_variable_with_an_open_extent_is_as_large_as_its_values_and_no_larger_than_others() {
    let too_large = ErrorKind::Unsupported("so large a variable");
    for text in [
        ".global .align 8 .b64 x[][1099511627776] = { {1}, {2} };",
        ".global .b64 x[][1099511627776][1099511627776][1099511627776] = { {{{1}}} };",
        ".global .b8 x[][549755813888] = { {1}, {2}, {3} };",
        ".global .b8 x[1048576][1048577];",
        ".global .v4 .b64 x[549755813888];",
    ] {
        assert_eq!(refused(text), too_large, "{text}");
    }
    let module = parse(&format!("{HEAD}.global .b16 x[][3] = {{ {{1}}, {{2, 3}} }};"));
    let variable = &module.expect("valid PTX").variables[0];
    assert_eq!(variable.bytes, 12);
    let pieces: Vec<_> = variable.initial.pieces().collect();
    assert_eq!(pieces, [(0, &[1, 0][..]), (6, &[2, 0, 3, 0])]);
}

#[test]
fn values_far_apart_take_no_memory_between_them() {
    let module = parse(&format!("{HEAD}.global .b8 x[2][274877906944] = {{ {{7}}, {{8, 9}} }};"));
    let variable = &module.expect("valid PTX").variables[0];
    assert_eq!(variable.bytes, 1 << 39);
    let pieces: Vec<_> = variable.initial.pieces().collect();
    assert_eq!(pieces, [(0, &[7][..]), (1 << 38, &[8, 9])]);
}
