//! Any variables are refused, or mean what is written when they are written down.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| cuda_sim::fuzzing::settings(text));
