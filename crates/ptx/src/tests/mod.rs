//! Tests of the front end as a whole.

mod errors;
mod limits;
mod mutations;
