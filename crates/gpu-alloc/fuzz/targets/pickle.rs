//! Any bytes are refused as a pickled snapshot, or make one that is little larger than they are.

#![no_main]
#![allow(dead_code, unused, reason = "the tests themselves are left out")]

#[path = "../../tests/it/snapshots.rs"]
mod snapshots;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| snapshots::try_bytes(bytes));
