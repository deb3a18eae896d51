//! A program made from any bytes runs on each policy as a model of it says.

#![no_main]
#![allow(dead_code, unused, reason = "the tests themselves are left out")]

#[path = "../../tests/it/certificate/mod.rs"]
mod certificate;
#[path = "../../tests/it/counted.rs"]
mod counted;
#[path = "../../examples/replay/device.rs"]
mod device_model;
#[path = "../../tests/it/drawn.rs"]
mod drawn;
#[path = "../../tests/it/effort.rs"]
mod effort;
#[path = "../../tests/it/host_model.rs"]
mod host_model;
#[path = "../../tests/it/pytorch_model/mod.rs"]
mod pytorch_model;
#[path = "../../tests/it/stitched_model/mod.rs"]
mod stitched_model;
#[path = "../../tests/it/test_source.rs"]
mod test_source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drawn::run_program(bytes));
