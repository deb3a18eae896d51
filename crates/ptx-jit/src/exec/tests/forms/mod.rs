//! Every form of the arithmetic instructions, against plain Rust on special and random operands.

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod table;
mod value;

pub(crate) use bits::permuted_bytes;
pub(crate) use table::{Form, module};
pub(crate) use value::{Kind, tuples};

/// All of them.
pub(crate) fn all() -> Vec<Form> {
    let groups = [
        bits::forms(),
        compare::forms(),
        convert::forms(),
        convert::newer_forms(),
        float::forms(),
        half::forms(),
        half::newer_forms(),
        integer::forms(),
    ];
    groups.into_iter().flatten().collect()
}
