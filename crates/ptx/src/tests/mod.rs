//! Tests of the front end as a whole.

mod any_text;
mod errors;
mod limits;
mod link;
