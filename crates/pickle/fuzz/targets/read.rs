//! Any bytes are refused as a pickle, or make one whose values can be walked.

#![no_main]
#![allow(dead_code, unused, reason = "the tests themselves are left out")]

#[path = "../../tests/it/any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_bytes::try_bytes(bytes));
