//! Operations on bits.

use super::table::{Form, binary, check, ternary, unary};
use super::value::{Kind, Value};

pub(super) fn forms() -> Vec<Form> {
    let mut forms = vec![
        binary("and.b16", |a: u16, b: u16| a & b),
        binary("or.b32", |a: u32, b: u32| a | b),
        binary("xor.b64", |a: u64, b: u64| a ^ b),
        unary("not.b16", |a: u16| !a),
        unary("not.b64", |a: u64| !a),
        unary("cnot.b32", |a: u32| u32::from(a == 0)),
        binary("shl.b16", |a: u16, b: u32| a.checked_shl(b).unwrap_or(0)),
        binary("shl.b32", |a: u32, b: u32| a.checked_shl(b).unwrap_or(0)),
        binary("shl.b64", |a: u64, b: u32| a.checked_shl(b).unwrap_or(0)),
        binary("shr.u16", |a: u16, b: u32| a.checked_shr(b).unwrap_or(0)),
        binary("shr.u32", |a: u32, b: u32| a.checked_shr(b).unwrap_or(0)),
        binary("shr.b64", |a: u64, b: u32| a.checked_shr(b).unwrap_or(0)),
        binary("shr.s16", |a: i16, b: u32| a >> b.min(15)),
        binary("shr.s32", |a: i32, b: u32| a >> b.min(31)),
        binary("shr.s64", |a: i64, b: u32| a >> b.min(63)),
        ternary("shf.l.wrap.b32", |a: u32, b: u32, c: u32| (pair(a, b) << (c & 31) >> 32) as u32),
        ternary("shf.r.wrap.b32", |a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32),
        ternary("shf.l.clamp.b32", |a: u32, b: u32, c: u32| (pair(a, b) << c.min(32) >> 32) as u32),
        ternary("shf.r.clamp.b32", |a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32),
        unary("popc.b32", |a: u32| a.count_ones()),
        unary("popc.b64", |a: u64| a.count_ones()),
        unary("clz.b32", |a: u32| a.leading_zeros()),
        unary("clz.b64", |a: u64| a.leading_zeros()),
        unary("brev.b32", u32::reverse_bits),
        unary("brev.b64", u64::reverse_bits),
        unary("bfind.u32", |a: u32| leading(u64::from(a), 32, false)),
        unary("bfind.s32", |a: i32| leading(u64::from((a ^ a >> 31) as u32), 32, false)),
        unary("bfind.u64", |a: u64| leading(a, 64, false)),
        unary("bfind.s64", |a: i64| leading((a ^ a >> 63) as u64, 64, false)),
        unary("bfind.shiftamt.u32", |a: u32| leading(u64::from(a), 32, true)),
        unary("bfind.shiftamt.s64", |a: i64| leading((a ^ a >> 63) as u64, 64, true)),
        ternary("bfe.u32", |a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, false) as u32),
        ternary("bfe.s32", |a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, true) as u32),
        ternary("bfe.u64", |a: u64, b: u32, c: u32| extract(a, b, c, 64, false)),
        ternary("bfe.s64", |a: u64, b: u32, c: u32| extract(a, b, c, 64, true)),
        binary("bmsk.clamp.b32", |a: u32, b: u32| bit_mask(a, b)),
        binary("bmsk.wrap.b32", |a: u32, b: u32| bit_mask(a & 31, b & 31)),
        ternary("prmt.b32", |a: u32, b: u32, c: u32| permuted_bytes(a, b, c)),
    ];
    forms.push(insertion("bfi.b32", 32));
    forms.push(insertion("bfi.b64", 64));
    forms
}

#[test]
fn operations_on_bits_follow_the_manual() {
    check(&forms());
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn leading(significant: u64, bits: u32, as_shift: bool) -> u32 {
    let zeros = significant.leading_zeros() + bits - 64;
    match significant {
        0 => u32::MAX,
        _ if as_shift => zeros,
        _ => bits - 1 - zeros,
    }
}

fn extract(a: u64, position: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (position, length) = (position & 255, length & 255);
    let top = (position + length).saturating_sub(1).min(bits - 1);
    let sign = if signed && length > 0 { a >> top & 1 } else { 0 };
    let bit = |place: u32| match place < length && position + place < bits {
        true => a >> (position + place) & 1,
        false => sign,
    };
    (0..bits).fold(0, |field, place| field | bit(place) << place)
}

fn insertion(opcode: &str, bits: u32) -> Form {
    let value = Kind::Integer(bits);
    Form::new(opcode, &[value, value, u32::KIND, u32::KIND], value, move |x| {
        let (position, length) = (x[2] & 255, x[3] & 255);
        (0..length)
            .map(|place| (place, position + place))
            .filter(|&(_, to)| to < u64::from(bits))
            .fold(x[1], |word, (from, to)| word & !(1 << to) | (x[0] >> from & 1) << to)
    })
}

fn bit_mask(position: u32, length: u32) -> u32 {
    let ones = 1u32.checked_shl(length).unwrap_or(0).wrapping_sub(1);
    ones.checked_shl(position).unwrap_or(0)
}

/// The result of `prmt` without a mode.
pub(crate) fn permuted_bytes(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = pair(a, b).to_le_bytes();
    let chosen = [0, 4, 8, 12].map(|shift| {
        let nibble = selector >> shift & 15;
        let byte = bytes[nibble as usize & 7];
        if nibble < 8 { byte } else { (byte as i8 >> 7) as u8 }
    });
    u32::from_le_bytes(chosen)
}
