//! Any calls in any order: errors, never a crash.

#![no_main]
#![allow(dead_code, unused_macros, reason = "shared with the tests, which use all of it")]

#[path = "../../tests/it/random_calls.rs"]
mod random_calls;
#[path = "../../tests/it/sim.rs"]
mod sim;

use sim::cuda;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| random_calls::from_bytes(bytes));
