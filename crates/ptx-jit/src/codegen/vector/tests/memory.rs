//! Lanes as they lie in memory.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData};

use super::*;
use crate::codegen::vector::make::vector;

const SHAPES: [(ScalarType, usize); 15] = [
    (ScalarType::U8, 1),
    (ScalarType::U8, 2),
    (ScalarType::U8, 4),
    (ScalarType::B16, 1),
    (ScalarType::B16, 2),
    (ScalarType::B16, 4),
    (ScalarType::B16, 8),
    (ScalarType::F32, 1),
    (ScalarType::F32, 2),
    (ScalarType::F32, 4),
    (ScalarType::B32, 8),
    (ScalarType::B64, 1),
    (ScalarType::F64, 2),
    (ScalarType::B64, 4),
    (ScalarType::S8, 8),
];

/// 1024 bytes that differ.
fn memory() -> Bytes {
    std::array::from_fn(|index| (index * 37 + index / 256 * 11) as u8)
}

#[test]
fn each_lane_gets_its_own_values() {
    for (ty, count) in SHAPES {
        // Single 8-bit numbers come in 16 bits, of which the upper half may be anything.
        let held = ty.bytes().max(2) as usize;
        for index in 0..count {
            let output = run(&memory(), |b, places| {
                let raw: Vec<Value> = (0..raw_vectors(ty, count))
                    .map(|at| {
                        b.ins().load(
                            raw_type(ty, count),
                            MemFlagsData::trusted(),
                            places.input,
                            16 * at as i32,
                        )
                    })
                    .collect();
                let parts = from_memory(b, &raw, ty, count);
                assert_eq!(parts.len(), count);
                places.store(b, 0, &parts[index].values);
            });
            let width = ty.bytes() as usize;
            let expected: Vec<u64> = (0..LANES)
                .map(|lane| {
                    let at = (lane * count + index) * width;
                    let bytes = &memory()[at..at + width];
                    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
                })
                .collect();
            let got: Vec<u64> = lanes_of(&output, 0, held)
                .into_iter()
                .map(|value| value & u64::MAX >> (64 - ty.bits()))
                .collect();
            assert_eq!(got, expected, "{ty:?} {index} of {count}");
        }
    }
}

#[test]
fn what_is_written_is_what_was_read() {
    for (ty, count) in SHAPES {
        let output = run(&memory(), |b, places| {
            let raw: Vec<Value> = (0..raw_vectors(ty, count))
                .map(|at| {
                    b.ins().load(
                        raw_type(ty, count),
                        MemFlagsData::trusted(),
                        places.input,
                        16 * at as i32,
                    )
                })
                .collect();
            let mut parts = from_memory(b, &raw, ty, count);
            if ty.bits() == 8 {
                // What the upper halves hold does not matter.
                let noise = vector(b, types::I16X8, 0x5500);
                for part in &mut parts {
                    *part = part.map(|value| b.ins().bxor(value, noise));
                }
            }
            let written = to_memory(b, &parts, ty);
            places.store(b, 0, &written);
        });
        let bytes = ty.bytes() as usize * count * LANES;
        assert_eq!(output[..bytes], memory()[..bytes], "{ty:?} {count}");
    }
}
