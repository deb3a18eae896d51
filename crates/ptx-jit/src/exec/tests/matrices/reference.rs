//! The manual's tables of fragments (PTX ISA 9.0, 9.7.14.5) and numbers of each type, element by element.

use half::{bf16, f16};
use ptx::{MatrixArrangement, MatrixForm, MatrixType, ScalarType};

/// Random numbers (SplitMix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A small whole number, or any from -2 to 2.
    fn number(&mut self, whole: bool) -> f64 {
        match whole {
            true => (self.next() % 9) as f64 - 4.0,
            false => (self.next() >> 11) as f64 / (1_u64 << 51) as f64 - 2.0,
        }
    }
}

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Factor(MatrixType),
    Sum(ScalarType),
}

impl Kind {
    /// The number of elements in a register, and the bits of each.
    pub(super) fn packing(self) -> (usize, usize) {
        match self {
            Kind::Factor(MatrixType::F16 | MatrixType::BF16) | Kind::Sum(ScalarType::F16) => {
                (2, 16)
            }
            Kind::Factor(MatrixType::TF32) => (1, 32),
            Kind::Factor(MatrixType::F64) | Kind::Sum(ScalarType::F64) => (1, 64),
            Kind::Factor(_) => (4, 8),
            Kind::Sum(_) => (1, 32),
        }
    }

    /// A random element: its bits, and the value that it has.
    pub(super) fn random(self, numbers: &mut Numbers, whole: bool) -> (u64, f64) {
        let bits = match self {
            Kind::Factor(MatrixType::F16) | Kind::Sum(ScalarType::F16) => {
                f16::from_f64(numbers.number(whole)).to_bits().into()
            }
            Kind::Factor(MatrixType::BF16) => {
                bf16::from_f64(numbers.number(whole)).to_bits().into()
            }
            Kind::Factor(MatrixType::TF32) | Kind::Sum(ScalarType::F32) => {
                (numbers.number(whole) as f32).to_bits().into()
            }
            Kind::Factor(MatrixType::F64) | Kind::Sum(ScalarType::F64) => {
                numbers.number(whole).to_bits()
            }
            Kind::Factor(MatrixType::S8 | MatrixType::U8) => numbers.next() & 0xff,
            // Numbers of a few bits below 2; any of them is one of the type.
            Kind::Factor(MatrixType::E4M3) => (numbers.next() & 0x80) | (numbers.next() % 0x40),
            Kind::Factor(MatrixType::E5M2) => (numbers.next() & 0x80) | (numbers.next() % 0x40),
            // Near the ends of the type sums wrap, or stop.
            Kind::Sum(_) => match numbers.next() % 4 {
                0 => u64::from((i32::MAX - (numbers.next() % 0x1_0000) as i32) as u32),
                1 => u64::from((i32::MIN + (numbers.next() % 0x1_0000) as i32) as u32),
                _ => numbers.next() & 0xffff_ffff,
            },
        };
        (bits, self.value(bits))
    }

    /// The value of an element with those bits.
    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            Kind::Factor(MatrixType::F16) | Kind::Sum(ScalarType::F16) => {
                f16::from_bits(bits as u16).to_f64()
            }
            Kind::Factor(MatrixType::BF16) => bf16::from_bits(bits as u16).to_f64(),
            // What follows the ten bits of a fraction does not count.
            Kind::Factor(MatrixType::TF32) => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
            Kind::Sum(ScalarType::F32) => f64::from(f32::from_bits(bits as u32)),
            Kind::Factor(MatrixType::F64) | Kind::Sum(ScalarType::F64) => f64::from_bits(bits),
            Kind::Factor(MatrixType::S8) => f64::from(bits as u8 as i8),
            Kind::Factor(MatrixType::U8) => f64::from(bits as u8),
            Kind::Factor(MatrixType::E4M3) => small(bits as u8, 3, 7),
            Kind::Factor(MatrixType::E5M2) => small(bits as u8, 2, 15),
            Kind::Sum(_) => f64::from(bits as u32 as i32),
        }
    }
}

/// A number of 8 bits, of which so many are the fraction.
fn small(byte: u8, fraction_bits: u32, bias: i32) -> f64 {
    let sign = if byte & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from((byte & 0x7f) >> fraction_bits);
    let fraction = f64::from(byte & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    match exponent {
        0 => sign * fraction * 2_f64.powi(1 - bias),
        _ => sign * (1.0 + fraction) * 2_f64.powi(exponent - bias),
    }
}

/// The product, row and column of an element.
pub(super) type Place = (usize, usize, usize);

/// Where element `i` of a lane's fragment of a lies.
pub(super) fn place_of_a(form: MatrixForm, i: usize, lane: usize) -> Place {
    let (group, thread) = (lane >> 2, lane % 4);
    if let MatrixArrangement::QuadPairs { a_in_columns, .. } = form.arrangement {
        let high = if lane < 16 { 0 } else { 4 };
        return match a_in_columns {
            false => (group % 4, lane % 4 + high, i),
            true => (group % 4, i % 4 + high, lane % 4),
        };
    }
    let (low, high) = (group, group + 8);
    let (row, column) = match (form.factors[0], form.rows, form.depth) {
        (MatrixType::F16 | MatrixType::BF16, _, 16) => {
            let row = if i < 2 || (4..6).contains(&i) { low } else { high };
            (row, thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
        }
        (MatrixType::F16 | MatrixType::BF16, ..) => {
            (if i < 2 { low } else { high }, thread * 2 + (i & 1))
        }
        (MatrixType::F64, 8, _) => (low, thread),
        (MatrixType::F64, _, 16) => match i % 2 {
            0 => (low, i * 2 + thread),
            _ => (high, i * 2 - 2 + thread),
        },
        (MatrixType::TF32 | MatrixType::F64, _, 8) => {
            let row = if i == 0 || i == 2 { low } else { high };
            (row, if i < 2 { thread } else { thread + 4 })
        }
        (MatrixType::TF32 | MatrixType::F64, ..) => (if i == 0 { low } else { high }, thread),
        (_, 8, _) => (low, thread * 4 + i),
        (_, _, 16) => (if i < 4 { low } else { high }, thread * 4 + (i & 3)),
        _ => {
            let row = if i < 4 || (8..12).contains(&i) { low } else { high };
            (row, thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        }
    };
    (0, row, column)
}

/// Where element `i` of a lane's fragment of b lies.
pub(super) fn place_of_b(form: MatrixForm, i: usize, lane: usize) -> Place {
    let (group, thread) = (lane >> 2, lane % 4);
    if let MatrixArrangement::QuadPairs { b_in_rows, .. } = form.arrangement {
        let high = if lane < 16 { 0 } else { 4 };
        return match b_in_rows {
            true => (group % 4, lane % 4, i + high),
            false => (group % 4, i, lane % 4 + high),
        };
    }
    let row = match (form.factors[0], form.depth) {
        (MatrixType::F16 | MatrixType::BF16, _) => {
            thread * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }
        }
        (MatrixType::F64, 16) => thread + i * 4,
        (MatrixType::TF32 | MatrixType::F64, _) => {
            if i == 0 {
                thread
            } else {
                thread + 4
            }
        }
        _ => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
    };
    (0, row, group)
}

/// Where element `i` of c or of the result lies, in a lane's fragment of that type.
pub(super) fn place_of_sum(form: MatrixForm, ty: ScalarType, i: usize, lane: usize) -> Place {
    let (group, thread) = (lane >> 2, lane % 4);
    if form.arrangement != MatrixArrangement::Warp {
        let high = if lane < 16 { 0 } else { 4 };
        return match ty {
            ScalarType::F16 => (group % 4, lane % 4 + high, i),
            _ => {
                let row = (lane & 1) + (i & 2) + high;
                (group % 4, row, (i & 4) + (lane & 2) + (i & 1))
            }
        };
    }
    (0, if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
}

/// The modifiers that ask for a form.
pub(super) fn name(form: MatrixForm) -> String {
    let ty = |ty: MatrixType| format!("{ty:?}").to_lowercase();
    let sum = |ty: ScalarType| format!("{ty:?}").to_lowercase();
    let layout = |columns| if columns { "col" } else { "row" };
    let (a, b) = match form.arrangement {
        MatrixArrangement::Warp => ("row", "col"),
        MatrixArrangement::QuadPairs { a_in_columns, b_in_rows } => {
            (layout(a_in_columns), layout(!b_in_rows))
        }
    };
    let MatrixForm { rows, depth, factors: [left, right], .. } = form;
    let clamp = if form.saturates { ".satfinite" } else { "" };
    format!(
        "m{rows}n8k{depth}.{a}.{b}{clamp}.{}.{}.{}.{}",
        sum(form.sums),
        ty(left),
        ty(right),
        sum(form.addends)
    )
}
