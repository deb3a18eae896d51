//! The benchmark program.
fn main() {}
