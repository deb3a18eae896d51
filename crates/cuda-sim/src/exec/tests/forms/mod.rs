//! Every form of the arithmetic instructions, against plain Rust on special and random operands.

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod table;
mod value;
