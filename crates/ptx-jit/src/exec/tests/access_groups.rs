//! Accesses of shared memory that a warp checks together, as unrolled loops have them.

use super::harness::at_each_level;
use crate::abi::AccessKind;
use crate::exec::FaultKind;

/// Each thread writes three words, 256 bytes apart from `start` on, and adds up what lies there, with
/// two words at `same` that all threads read; the sum goes to `output`.
const SOURCE: &str = "
.version 7.0
.target sm_75
.address_size 64
.shared .align 16 .b8 block[1024];
.visible .entry sums(.param .u32 start, .param .u32 same, .param .u64 output)
{
    .reg .b32 %r<16>;
    .reg .b64 %d<5>;
    ld.param.u32 %r0, [start];
    ld.param.u32 %r1, [same];
    ld.param.u64 %d0, [output];
    mov.u32 %r2, %tid.x;
    shl.b32 %r3, %r2, 2;
    mov.u32 %r4, block;
    add.u32 %r5, %r4, %r3;
    add.u32 %r5, %r5, %r0;
    add.u32 %r6, %r4, %r1;
    st.shared.u32 [%r5], %r2;
    st.shared.u32 [%r5+512], 1000;
    st.shared.u32 [%r5+256], 100;
    bar.sync 0;
    ld.shared.u32 %r7, [%r5+256];
    ld.shared.u32 %r8, [%r6+4];
    ld.shared.u32 %r9, [%r5];
    ld.shared.u32 %r10, [%r6];
    ld.shared.u32 %r11, [%r5+512];
    add.u32 %r12, %r7, %r8;
    add.u32 %r12, %r12, %r9;
    add.u32 %r12, %r12, %r10;
    add.u32 %r12, %r12, %r11;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r12;
    ret;
}
";

/// The line of the text that has some words.
fn line_of(words: &str) -> u32 {
    let line = SOURCE.lines().position(|line| line.contains(words));
    line.map_or(0, |line| line as u32 + 1)
}

#[test]
fn each_lane_has_its_own_words_and_those_that_all_share() {
    at_each_level(SOURCE, |device| {
        let output = device.upload(&[0u32; 32]);
        for (start, same) in [(0u32, 16u32), (384, 640), (128, 640)] {
            let arguments: [&dyn super::harness::Argument; 3] = [&start, &same, &output];
            device.launch("sums", [1; 3], [32, 1, 1], 0, &arguments).expect("all is inside");
            // The word of a place that is 256 bytes apart from the start or not.
            let word = |place: u32| match (place.wrapping_sub(start), place) {
                (distance @ 0..128, _) => distance / 4,
                (256..384, _) => 100,
                (512..640, _) => 1000,
                _ => panic!("nothing is written at {place}"),
            };
            let expected: Vec<u32> =
                (0..32).map(|lane| lane + 1100 + word(same) + word(same + 4)).collect();
            assert_eq!(device.download::<u32>(output), expected);
        }
    });
}

#[test]
fn the_first_access_that_leaves_the_memory_is_the_fault() {
    at_each_level(SOURCE, |device| {
        let output = device.upload(&[0u32; 32]);
        let fault = |start: u32, same: u32| {
            let arguments: [&dyn super::harness::Argument; 3] = [&start, &same, &output];
            let launched = device.launch("sums", [1; 3], [32, 1, 1], 0, &arguments);
            launched.expect_err("an access leaves the memory")
        };
        let illegal = |address: u64, access: AccessKind| FaultKind::IllegalAddress {
            address,
            bytes: 4,
            access,
        };
        // The eighth lane is the first whose third word lies behind the end.
        let found = fault(480, 0);
        assert_eq!(found.kind, illegal(1024, AccessKind::Write));
        assert_eq!((found.line, found.thread), (line_of("[%r5+512], 1000"), [8, 0, 0]));
        // Farther out, the second store is the first to leave, of the first lane.
        let found = fault(800, 0);
        assert_eq!(found.kind, illegal(1312, AccessKind::Write));
        assert_eq!((found.line, found.thread), (line_of("[%r5+512], 1000"), [0, 0, 0]));
        // Addresses have 32 bits: 512 bytes on, this one would be inside again.
        let found = fault(u32::MAX - 255, 0);
        assert_eq!(found.kind, illegal(u64::from(u32::MAX - 255), AccessKind::Write));
        assert_eq!((found.line, found.thread), (line_of("[%r5], %r2"), [0, 0, 0]));
        let found = fault(0, 1020);
        assert_eq!(found.kind, illegal(1024, AccessKind::Read));
        assert_eq!((found.line, found.thread), (line_of("[%r6+4]"), [0, 0, 0]));
        let found = fault(2, 0);
        let access = AccessKind::Write;
        assert_eq!(found.kind, FaultKind::MisalignedAddress { address: 2, bytes: 4, access });
        assert_eq!((found.line, found.thread), (line_of("[%r5], %r2"), [0, 0, 0]));
    });
}
