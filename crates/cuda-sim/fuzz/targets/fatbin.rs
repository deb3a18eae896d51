//! Any bytes are refused, or hold the PTX that is found in them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cuda_sim::fuzzing::fatbin(bytes));
