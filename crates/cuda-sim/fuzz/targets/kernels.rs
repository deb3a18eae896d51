//! Kernels made from any bytes do the same in lockstep and thread at a time.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ptx_jit::fuzzing::kernel(bytes));
