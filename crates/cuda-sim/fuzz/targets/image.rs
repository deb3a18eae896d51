//! Any bytes are refused as an image that modules are loaded from, or hold a program.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cuda_sim::fuzzing::image(bytes));
