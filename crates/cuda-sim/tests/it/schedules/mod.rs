//! Schedules: a corpus of programs in which one wait is missing, and what finds it.

mod between_streams;
mod controlled;
mod corpus;
mod lab;
mod with_the_host;
