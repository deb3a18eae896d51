//! What becomes of kernels with which the translator cannot cope.

use crate::abi::CheckLevel;
use crate::codegen;
use crate::exec::harness::Device;
use crate::program::broken_translator::BROKEN;

#[test]
fn what_cannot_be_translated_for_warps_runs_one_thread_at_a_time() {
    let mut device = Device::new(
        ".version 8.0 .target sm_80 .address_size 64
        .entry kernel(.param .u64 out) {
        .reg .b32 %t; .reg .b64 %out, %o; .reg .pred %p;
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
        add.s64 %out, %out, %o; bar.sync 0; st.global.u32 [%out], %t; ret; }",
    );
    device.check = CheckLevel::Window;
    let out = device.allocate(4 * 64);
    let mut run = || {
        let ran = device.launch("kernel", [1; 3], [64, 1, 1], 0, &[&out]);
        ran.expect("no fault");
        assert_eq!(device.download::<u32>(out), (0..64).collect::<Vec<u32>>());
    };
    BROKEN.set(true);
    run();
    BROKEN.set(false);
    run();
}

#[test]
fn a_panic_in_the_translator_is_an_error_that_says_why() {
    let reason = codegen::contained::<()>(|| panic!("no way from {} to {}", 1, 2));
    assert_eq!(reason.unwrap_err(), "the translator panicked: no way from 1 to 2");
    let reason = codegen::contained::<()>(|| panic!("plain"));
    assert_eq!(reason.unwrap_err(), "the translator panicked: plain");
}
