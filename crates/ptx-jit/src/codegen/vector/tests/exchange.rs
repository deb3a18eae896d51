//! Lanes taken apart and made from scalars, masks, and exchanges between lanes.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};

use super::*;

const TYPES: [ScalarType; 4] = [ScalarType::B16, ScalarType::B32, ScalarType::B64, ScalarType::F32];

fn mixed(lane: usize) -> u64 {
    (lane as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn low(value: u64, ty: ScalarType) -> u64 {
    value & u64::MAX >> (64 - ty.bits())
}

#[test]
fn a_lane_becomes_all_lanes() {
    for ty in TYPES {
        let width = ty.bytes() as usize;
        let output = run(&bytes(&[(width, &mixed)]), |b, places| {
            let lanes = places.load(b, 0, ty);
            let last = lane(b, &lanes, LANES - 1, ty);
            let last = splat(b, last, ty);
            places.store(b, 0, &last.values);
        });
        assert_eq!(lanes_of(&output, 0, width), [low(mixed(31), ty); LANES], "{ty:?}");
    }
}

#[test]
fn masks_become_bits_and_are_made_from_them() {
    for word in [0u32, u32::MAX, 1, 1 << 31, 0x8001_ff10, 0x1234_5678] {
        let output = run(&bytes(&[(4, &|_| u64::from(word))]), |b, places| {
            let word = b.ins().load(types::I32, MemFlagsData::trusted(), places.input, 0);
            let mask = from_bits(b, word);
            places.store(b, 0, &mask.values);
            let again = bits(b, &mask);
            let (any, all) = (any(b, &mask), all(b, &mask));
            let (any, all) = (b.ins().uextend(types::I32, any), b.ins().uextend(types::I32, all));
            places.store(b, 1, &[again]);
            places.store(b, 2, &[any, all]);
            let truth = lane(b, &mask, 4, ScalarType::Pred);
            let truth = splat(b, truth, ScalarType::Pred);
            places.store(b, 3, &truth.values);
        });
        let holds = |lane| word >> lane & 1 != 0;
        let expected = |lane| if holds(lane) { 0xffff_ffff } else { 0 };
        assert_eq!(lanes_of(&output, 0, 4), (0..LANES).map(expected).collect::<Vec<_>>());
        assert_eq!(lanes_of(&output, 1, 4)[0], u64::from(word));
        assert_eq!(lanes_of(&output, 2, 4)[0], u64::from(word != 0));
        assert_eq!(lanes_of(&output, 2, 16)[1], u64::from(word == u32::MAX));
        assert_eq!(lanes_of(&output, 3, 4), [expected(4); LANES]);
    }
}

#[test]
fn a_choice_by_mask_knows_every_width() {
    let word = 0x8f00_3c15u32;
    for ty in TYPES {
        let width = ty.bytes() as usize;
        let input = bytes(&[
            (width, &mixed),
            (width, &|lane| !mixed(lane)),
            (4, &|lane| if word >> lane & 1 != 0 { u64::MAX } else { 0 }),
        ]);
        let output = run(&input, |b, places| {
            let (x, y) = (places.load(b, 0, ty), places.load(b, 1, ty));
            let mask = places.load(b, 2, ScalarType::Pred);
            let chosen = select(b, &mask, &x, &y, ty);
            places.store(b, 0, &chosen.values);
        });
        let chosen = |lane| if word >> lane & 1 != 0 { mixed(lane) } else { !mixed(lane) };
        let expected: Vec<u64> = (0..LANES).map(|lane| low(chosen(lane), ty)).collect();
        assert_eq!(lanes_of(&output, 0, width), expected, "{ty:?}");
    }
}

#[test]
fn lanes_move_to_where_they_are_asked_for() {
    type Pattern = fn(usize) -> usize;
    let patterns: [(&str, Pattern); 8] = [
        ("same", |lane| lane),
        ("butterfly 1", |lane| lane ^ 1),
        ("butterfly 16", |lane| lane ^ 16),
        ("down 1, clamped", |lane| (lane + 1).min(31)),
        ("up 5, clamped", |lane| lane.saturating_sub(5)),
        ("one of each four vectors", |lane| lane * 4 % 32 + lane / 8),
        ("all from one", |_| 13),
        ("reversed", |lane| 31 - lane),
    ];
    for ty in TYPES {
        for (name, pattern) in patterns {
            let width = ty.bytes() as usize;
            // Numbers beyond 31 name lanes by their low bits.
            let input = bytes(&[(width, &mixed), (4, &|lane| (pattern(lane) | 0x60) as u64)]);
            let output = run(&input, |b, places| {
                let lanes = places.load(b, 0, ty);
                let sources = places.load(b, 1, ScalarType::B32);
                let known = permute(b, &lanes, ty, &std::array::from_fn(pattern));
                places.store(b, 0, &known.values);
                let unknown = permute_by(b, &lanes, &sources, ty);
                places.store(b, 1, &unknown.values);
            });
            let expected: Vec<u64> = (0..LANES).map(|lane| low(mixed(pattern(lane)), ty)).collect();
            assert_eq!(lanes_of(&output, 0, width), expected, "{ty:?} {name}");
            assert_eq!(lanes_of(&output, 1, width), expected, "{ty:?} {name}");
        }
    }
}

#[test]
fn lanes_find_those_with_their_value() {
    for ty in [ScalarType::B32, ScalarType::B64] {
        let width = ty.bytes() as usize;
        let value = |lane: usize| (lane as u64 % 5) << (ty.bits() - 3);
        let output = run(&bytes(&[(width, &value)]), |b, places| {
            let lanes = places.load(b, 0, ty);
            let masks = match_any(b, &lanes, ty);
            places.store(b, 0, &masks.values);
        });
        let mask = |lane| {
            (0..LANES)
                .filter(|&other| value(other) == value(lane))
                .fold(0, |mask, other| mask | 1 << other)
        };
        assert_eq!(lanes_of(&output, 0, 4), (0..LANES).map(mask).collect::<Vec<u64>>());
    }
}

#[test]
fn lanes_are_joined_to_one_value() {
    for ty in [ScalarType::U32, ScalarType::U64] {
        let width = ty.bytes() as usize;
        let output = run(&bytes(&[(width, &mixed)]), |b, places| {
            let lanes = places.load(b, 0, ty);
            let sum = reduce(b, &lanes, ty, |b, x, y| b.ins().iadd(x, y));
            places.store(b, 0, &[sum]);
        });
        let sum = (0..LANES).map(mixed).fold(0, u64::wrapping_add);
        assert_eq!(lanes_of(&output, 0, width)[0], low(sum, ty), "{ty:?}");
    }
}
