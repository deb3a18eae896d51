//! Any text is refused as options of PyTorch's allocator, or makes a policy that works.

#![no_main]
#![allow(dead_code, unused, reason = "the tests themselves are left out")]

#[path = "../../examples/replay/device.rs"]
mod device_model;
#[path = "../../tests/it/pytorch_options.rs"]
mod pytorch_options;
#[path = "../../tests/it/test_source.rs"]
mod test_source;

libfuzzer_sys::fuzz_target!(|text: &str| pytorch_options::try_text(text));
