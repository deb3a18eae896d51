//! Every form of the arithmetic instructions, against plain Rust on special and random operands.

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod table;
mod value;

pub(in crate::exec::tests) use table::{Form, module};
pub(in crate::exec::tests) use value::tuples;

/// The forms of all families.
pub(in crate::exec::tests) fn all() -> Vec<(&'static str, Vec<Form>)> {
    vec![
        ("integer", integer::forms()),
        ("bits", bits::forms()),
        ("float", float::forms()),
        ("half", half::forms()),
        ("convert", convert::forms()),
        ("compare", compare::forms()),
        ("half_new", half::newer_forms()),
        ("convert_new", convert::newer_forms()),
    ]
}
