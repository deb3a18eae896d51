//! Any text is refused with an error, or its kernels can be translated.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptx_jit::fuzzing::text(text));
