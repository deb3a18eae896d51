//! The tests of cuda-sys as its users see it.

mod load;
mod table;
