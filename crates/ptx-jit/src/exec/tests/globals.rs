//! Variables of modules.

use super::harness::{Device, at_each_level, corpus};
use crate::program::{Program, Space};

#[test]
fn variables_have_their_initial_values_and_addresses() {
    at_each_level(corpus!("globals"), |device| {
        let output = device.allocate(36 * 4);
        device.launch("variables", [1; 3], [32, 1, 1], 0, &[&output, &17i32]).expect("no fault");
        let result: Vec<f32> = device.download(output);
        let matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        for (thread, &value) in result[..32].iter().enumerate() {
            assert_eq!(value, (thread % 4 + 1) as f32 + matrix[thread % 2][thread % 3]);
        }
        assert_eq!(result[32..], [17.0, 42.0, 115.0, 101.0]);
    });
}

#[test]
fn a_program_lists_what_the_driver_needs_to_know() {
    let program = Program::load(corpus!("globals")).expect("valid PTX");
    let table =
        program.globals().iter().find(|variable| variable.name == "table").expect("a table");
    assert_eq!((table.bytes, table.align, table.space), (16, 4, Space::Const));
    let (start, piece) = table.initial.pieces().next().expect("initial values");
    assert_eq!((start, &piece[4..8]), (0, &2f32.to_le_bytes()[..]));
    let pointer =
        program.globals().iter().find(|variable| variable.name == "pointer").expect("a pointer");
    let target = &program.globals()[pointer.relocations[0].target];
    assert_eq!((target.name.as_str(), pointer.relocations[0].addend), ("plain", 4));
    let kernel = program.kernel("variables").expect("a kernel");
    let places: Vec<_> = kernel.parameters().iter().map(|at| (at.offset, at.bytes)).collect();
    assert_eq!((places, kernel.parameter_bytes()), (vec![(0, 8), (8, 4)], 12));
    assert_eq!((kernel.static_shared_bytes(), kernel.local_bytes()), (0, 0));
}

#[test]
fn shared_memory_counts_what_a_kernel_reaches() {
    let source = ".version 7.0 .target sm_75 .address_size 64
        .shared .align 4 .b8 first[100]; .shared .align 16 .f64 second[4];
        .extern .shared .align 32 .b8 rest[];
        .func f() { .reg .f64 %d; ld.shared.f64 %d, [second]; ret; }
        .visible .entry none() { ret; }
        .visible .entry one() { .reg .b32 %r; ld.shared.u32 %r, [first+4]; ret; }
        .visible .entry both(.param .u64 out) {
            .reg .b32 %r<3>; .reg .b64 %p; call f; mov.u32 %r0, first; mov.u32 %r1, rest;
        sub.u32 %r2, %r1, %r0;
            ld.param.u64 %p, [out]; st.global.u32 [%p], %r2; st.shared.u32 [rest+60], %r2; ret;
        }";
    let mut device = Device::new(source);
    let program = Program::load(source).expect("valid PTX");
    let bytes = |name| program.kernel(name).expect("a kernel").static_shared_bytes();
    assert_eq!((bytes("none"), bytes("one"), bytes("both")), (0, 100, 144));
    let output = device.allocate(4);
    device.launch("both", [1; 3], [1; 3], 64, &[&output]).expect("no fault");
    assert_eq!(device.download::<u32>(output), [160]);
}
