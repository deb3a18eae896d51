//! Operations that the table of forms has not: truth tables, chains of carries, second results.

use ptx::{
    BitsForm, BitsOp, Carry, Combine, CompareForm, Comparison, IntegerForm, IntegerOp, ProductPart,
};

use super::*;

fn mixed(lane: usize) -> u64 {
    (lane as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[test]
fn every_truth_table_is_followed() {
    let operands = [|lane| mixed(lane), |lane| mixed(lane + 40), |lane| mixed(lane + 99)];
    let input = bytes(&[(4, &operands[0]), (4, &operands[1]), (4, &operands[2])]);
    for table in 0..=255u8 {
        let output = run(&input, |b, places| {
            let operands = [0, 1, 2].map(|index| places.load(b, index, ScalarType::B32));
            let form = BitsForm { op: BitsOp::LogicTable(table), ty: ScalarType::B32 };
            let results = operation(b, Operation::Bits(form), &operands, true);
            places.store(b, 0, &results.expect("it has a vector form")[0].0.values);
        });
        for (lane, got) in lanes_of(&output, 0, 4).into_iter().enumerate() {
            let [x, y, z] = operands.map(|operand| operand(lane));
            let bit = |at: u32| {
                let row = (x >> at & 1) << 2 | (y >> at & 1) << 1 | (z >> at & 1);
                u64::from(table >> row & 1) << at
            };
            assert_eq!(got, (0..32).map(bit).sum::<u64>(), "table {table:#x}");
        }
    }
}

/// Operands next to where sums and differences wrap.
fn edges(lane: usize) -> [u64; 3] {
    let values = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff, 0x1234_5678];
    let wide = |value: u64| value << 32 | value;
    [wide(values[lane % 8]), wide(values[lane / 4 % 8]), wide(values[lane * 3 % 8])]
}

#[test]
fn carries_go_in_and_out() {
    let taken = 0xf0c3_aa55u32;
    let carry = Carry { takes: true, gives: true };
    for ty in [ScalarType::U32, ScalarType::S32, ScalarType::U64] {
        let (width, all) = (ty.bytes() as usize, u128::from(u64::MAX >> (64 - ty.bits())));
        let input = bytes(&[
            (width, &|lane| edges(lane)[0]),
            (width, &|lane| edges(lane)[1]),
            (width, &|lane| edges(lane)[2]),
            (4, &|lane| if taken >> lane & 1 != 0 { u64::MAX } else { 0 }),
        ]);
        let product = IntegerOp::MultiplyAddCarry { part: ProductPart::Low, carry };
        let ops = [IntegerOp::AddCarry(carry), IntegerOp::SubCarry(carry), product];
        for op in ops {
            let output = run(&input, |b, places| {
                let mut operands: Vec<Lanes> =
                    (0..2 + usize::from(op == product)).map(|at| places.load(b, at, ty)).collect();
                operands.push(places.load(b, 3, ScalarType::Pred));
                let operation =
                    operation(b, Operation::Integer(IntegerForm { op, ty }), &operands, true);
                let results = operation.expect("it has a vector form");
                places.store(b, 0, &results[0].0.values);
                places.store(b, 1, &results[1].0.values);
            });
            let (got, out) = (lanes_of(&output, 0, width), lanes_of(&output, 1, 4));
            for lane in 0..LANES {
                let [x, y, z] = edges(lane).map(|value| u128::from(value) & all);
                let carry = u128::from(taken >> lane & 1);
                // A difference is a sum with the complement.
                let sum = match op {
                    IntegerOp::AddCarry(_) => x + y + carry,
                    IntegerOp::SubCarry(_) => x + (!y & all) + carry,
                    _ => (x.wrapping_mul(y) & all) + z + carry,
                };
                assert_eq!(u128::from(got[lane]), sum & all, "{op:?} {ty:?} {lane}");
                let expected = if sum > all { 0xffff_ffff } else { 0 };
                assert_eq!(out[lane], expected, "{op:?} {ty:?} {lane}");
            }
        }
    }
}

#[test]
fn both_results_of_a_comparison_are_joined_with_the_predicate() {
    let joined = 0xff00_f0f0u32;
    let input = bytes(&[
        (8, &|lane| edges(lane)[0]),
        (8, &|lane| edges(lane)[1]),
        (4, &|lane| if joined >> lane & 1 != 0 { u64::MAX } else { 0 }),
    ]);
    for combine in [Combine::And, Combine::Or, Combine::Xor] {
        let form = CompareForm {
            comparison: Comparison::Less,
            ty: ScalarType::S64,
            ftz: false,
            combine: Some(combine),
            result: ScalarType::Pred,
        };
        let output = run(&input, |b, places| {
            let (x, y) = (places.load(b, 0, form.ty), places.load(b, 1, form.ty));
            let operands = [x, y, places.load(b, 2, ScalarType::Pred)];
            let results = operation(b, Operation::Compare(form), &operands, true);
            let results = results.expect("it has a vector form");
            places.store(b, 0, &results[0].0.values);
            places.store(b, 1, &results[1].0.values);
        });
        for lane in 0..LANES {
            let [x, y, _] = edges(lane);
            let (less, other) = ((x as i64) < y as i64, joined >> lane & 1 != 0);
            let join = |holds: bool| match combine {
                Combine::And => holds & other,
                Combine::Or => holds | other,
                Combine::Xor => holds ^ other,
            };
            for (index, holds) in [join(less), join(!less)].into_iter().enumerate() {
                let expected = if holds { 0xffff_ffff } else { 0 };
                assert_eq!(lanes_of(&output, index, 4)[lane], expected, "{combine:?} {lane}");
            }
        }
    }
}

#[test]
fn hosts_without_fused_products_get_the_same_sums() {
    use crate::codegen::vector::arrays::{LaneFunction, call};
    use crate::runtime::FloatCall;

    let number = |lane: usize| f64::from(lane as f32 * 1.1 - 9.0).to_bits();
    for (ty, width) in [(ScalarType::F64, 8), (ScalarType::F32, 4)] {
        let value = |lane| match ty {
            ScalarType::F64 => number(lane),
            _ => u64::from((f64::from_bits(number(lane)) as f32).to_bits()),
        };
        let input = bytes(&[(width, &value), (width, &|lane| value(31 - lane)), (width, &value)]);
        let output = run(&input, |b, places| {
            let [x, y, z] = [0, 1, 2].map(|index| places.load(b, index, ty));
            let function = LaneFunction::Float(FloatCall::FusedMultiplyAdd);
            let sum = call(b, function, ty.bits(), &[&x, &y, &z], ty);
            places.store(b, 0, &sum.values);
        });
        for (lane, got) in lanes_of(&output, 0, width).into_iter().enumerate() {
            let [x, y] = [lane, 31 - lane].map(|lane| f64::from_bits(number(lane)));
            let expected = match ty {
                ScalarType::F64 => x.mul_add(y, x).to_bits(),
                _ => u64::from((x as f32).mul_add(y as f32, x as f32).to_bits()),
            };
            assert_eq!(got, expected, "{ty:?} {lane}");
        }
    }
}
