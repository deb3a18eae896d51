//! Operands and results of instructions as bits, and where operands come from.

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Predicate,
    Integer(u32),
    F16,
    Bf16,
    F32,
    F64,
}

impl Kind {
    pub(crate) fn bits(self) -> u32 {
        match self {
            Kind::Predicate => 1,
            Kind::Integer(bits) => bits,
            Kind::F16 | Kind::Bf16 => 16,
            Kind::F32 => 32,
            Kind::F64 => 64,
        }
    }

    /// Values at which instructions tend to go wrong.
    fn special(self) -> Vec<u64> {
        let (fraction, exponent) = match self {
            Kind::F16 => (10, 5),
            Kind::Bf16 => (7, 8),
            Kind::F32 => (23, 8),
            Kind::F64 => (52, 11),
            _ => return integers(self.bits()),
        };
        let infinity = ((1u64 << exponent) - 1) << fraction;
        let one = ((1u64 << (exponent - 1)) - 1) << fraction;
        let least_normal = 1 << fraction;
        let magnitudes = [
            0,
            1,
            least_normal - 1,
            least_normal,
            one,
            one + 1,
            one - 1,
            // 0.5, 1.5, 2.5 and 3: ties between whole numbers, and not.
            one - least_normal,
            one + least_normal / 2,
            one + least_normal + least_normal / 4,
            one + least_normal + least_normal / 2,
            infinity - 1,
            infinity,
            infinity + 1,
            infinity + least_normal / 2,
            infinity + least_normal - 1,
        ];
        let sign = 1 << (fraction + exponent);
        magnitudes.into_iter().flat_map(|magnitude| [magnitude, magnitude | sign]).collect()
    }

    /// A random value: any bits, or a number of moderate size.
    fn random(self, random: &mut Random) -> u64 {
        let any = random.next();
        let moderate = random.next() % 4;
        let bits = match self {
            Kind::F32 if moderate > 0 => u64::from((signed(any) as f32 * 1e-15).to_bits()),
            Kind::F64 if moderate > 0 => (signed(any) * 1e-15).to_bits(),
            Kind::F16 if moderate > 0 => {
                u64::from(::half::f16::from_f64(signed(any) * 1e-15).to_bits())
            }
            Kind::Integer(_) if moderate > 2 => any >> 58,
            Kind::Integer(_) if moderate > 1 => any >> (any % 64),
            _ => any,
        };
        bits & mask(self.bits())
    }
}

fn signed(bits: u64) -> f64 {
    bits as i64 as f64
}

fn integers(bits: u32) -> Vec<u64> {
    let top = 1u64 << (bits - 1);
    [0, 1, 2, 5, 31, 32, 33, top - 1, top, top + 1]
        .into_iter()
        .flat_map(|value| [value & mask(bits), value.wrapping_neg() & mask(bits)])
        .collect()
}

pub(super) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Tuples of operands: every combination of two special values, then random ones.
pub(crate) fn tuples(kinds: &[Kind], count: usize) -> Vec<Vec<u64>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let special: Vec<Vec<u64>> = kinds.iter().map(|kind| kind.special()).collect();
    let mut tuples = Vec::with_capacity(count);
    let second = special.get(1).map_or(1, Vec::len);
    for index in 0..special[0].len() * second {
        let pick = |place: usize, values: &Vec<u64>| match place {
            0 => values[index / second],
            1 => values[index % second],
            _ => values[(index * 7 + index / second * place) % values.len()],
        };
        tuples
            .push(special.iter().enumerate().map(|(place, values)| pick(place, values)).collect());
    }
    tuples.truncate(count / 2);
    while tuples.len() < count {
        let mixed = random.next().is_multiple_of(4);
        let value = |place: usize, random: &mut Random| {
            let values = &special[place];
            match mixed && random.next().is_multiple_of(2) {
                true => values[random.next() as usize % values.len()],
                false => kinds[place].random(random),
            }
        };
        tuples.push((0..kinds.len()).map(|place| value(place, &mut random)).collect());
    }
    tuples
}

/// A small generator, the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A Rust value that a register holds.
pub(super) trait Value: Copy {
    const KIND: Kind;
    fn from_bits(bits: u64) -> Self;
    fn into_bits(self) -> u64;
}

macro_rules! integer {
    ($($ty:ty),*) => {
        $(impl Value for $ty {
            const KIND: Kind = Kind::Integer(<$ty>::BITS);
            fn from_bits(bits: u64) -> $ty {
                bits as $ty
            }
            fn into_bits(self) -> u64 {
                self as u64 & mask(<$ty>::BITS)
            }
        })*
    };
}

integer!(u16, u32, u64, i16, i32, i64);

impl Value for bool {
    const KIND: Kind = Kind::Predicate;
    fn from_bits(bits: u64) -> bool {
        bits != 0
    }
    fn into_bits(self) -> u64 {
        u64::from(self)
    }
}

impl Value for f32 {
    const KIND: Kind = Kind::F32;
    fn from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn into_bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Value for f64 {
    const KIND: Kind = Kind::F64;
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn into_bits(self) -> u64 {
        self.to_bits()
    }
}

/// The bits of an f16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct F16(pub(super) u16);

/// The bits of a bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bf16(pub(super) u16);

impl Value for F16 {
    const KIND: Kind = Kind::F16;
    fn from_bits(bits: u64) -> F16 {
        F16(bits as u16)
    }
    fn into_bits(self) -> u64 {
        u64::from(self.0)
    }
}

impl Value for Bf16 {
    const KIND: Kind = Kind::Bf16;
    fn from_bits(bits: u64) -> Bf16 {
        Bf16(bits as u16)
    }
    fn into_bits(self) -> u64 {
        u64::from(self.0)
    }
}
