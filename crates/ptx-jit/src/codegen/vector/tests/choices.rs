//! Minimum and maximum in the variants that the table of forms has not.

use ptx::{Clamp, FloatForm, FloatOp, MinMax, Rounding};

use super::*;

/// Numbers of both signs, zeros, infinities and NaNs, as the upper bits of 32.
const NUMBERS: [u32; 8] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xc000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc1_0000,
    0xffff_0000,
];

/// The choice as the manual has it: NaN loses or wins, zeros are ordered by their signs.
fn expected(x: u32, y: u32, nan: u32, variant: MinMax, minimum: bool) -> u32 {
    let mask = if variant.xor_sign { 0x7fff_ffff } else { u32::MAX };
    let signs = if variant.xor_sign { (x ^ y) & 0x8000_0000 } else { 0 };
    let (x, y) = (x & mask, y & mask);
    // Numbers in the order of integers.
    let rank =
        |bits: u32| if bits >> 31 == 0 { i64::from(bits) } else { !i64::from(bits << 1 >> 1) };
    let is_nan = |bits: u32| bits << 1 > 0xff00_0000;
    let chosen = match (is_nan(x), is_nan(y)) {
        (false, false) if (rank(x) < rank(y)) == minimum => x,
        (false, false) => y,
        (x_is_nan, y_is_nan) if variant.nan || x_is_nan && y_is_nan => nan,
        (true, _) => y,
        _ => x,
    };
    chosen | signs
}

#[test]
fn a_choice_by_magnitude_has_both_signs_in_its_own() {
    // bf16 is the upper half of 32 bits.
    for (ty, shift, nan) in [(ScalarType::F32, 0, 0x7fff_ffff), (ScalarType::BF16, 16, 0x7fff_0000)]
    {
        let width = ty.bytes() as usize;
        for first in [0, 4] {
            let pair = |lane: usize| (NUMBERS[first + lane / 8], NUMBERS[lane % 8]);
            let input = bytes(&[
                (width, &|lane| u64::from(pair(lane).0 >> shift)),
                (width, &|lane| u64::from(pair(lane).1 >> shift)),
            ]);
            for case in 0..8 {
                let variant = MinMax { nan: case & 1 != 0, xor_sign: case & 2 != 0 };
                let minimum = case & 4 != 0;
                let op = match minimum {
                    true => FloatOp::Minimum(variant),
                    false => FloatOp::Maximum(variant),
                };
                let form = FloatForm {
                    op,
                    ty,
                    rounding: Rounding::Nearest,
                    ftz: false,
                    clamp: Clamp::None,
                };
                let output = run(&input, |b, places| {
                    let operands = [places.load(b, 0, ty), places.load(b, 1, ty)];
                    let results = operation(b, Operation::Float(form), &operands, true);
                    places.store(b, 0, &results.expect("it has a vector form")[0].0.values);
                });
                for (lane, got) in lanes_of(&output, 0, width).into_iter().enumerate() {
                    let (x, y) = pair(lane);
                    let expected = expected(x, y, nan, variant, minimum) >> shift;
                    assert_eq!(got, u64::from(expected), "{op:?} {ty:?} {x:#x} {y:#x}");
                }
            }
        }
    }
}
