//! Any bytes are refused as a trace, or make one that can be replayed.

#![no_main]
#![allow(dead_code, unused, reason = "the tests themselves are left out")]

#[path = "../../examples/replay/trace.rs"]
mod trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace::try_bytes(bytes));
