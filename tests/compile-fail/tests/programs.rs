//! Compiles each program, and compares what the compiler says.

#[test]
fn wrong_programs_are_told_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/programs/*.rs");
}
