//! Numbers, sizes, positions, names.

use std::ops::Range;
use std::time::Duration;

use tensor::{GeneratorState, ReduceDims, Scalar, Steps};

use super::Draw;

/// Sizes for which there is no memory, or no number of bytes.
const HUGE: [usize; 12] = [
    usize::MAX,
    usize::MAX - 1,
    usize::MAX / 2,
    usize::MAX / 2 + 1,
    usize::MAX / 4 + 1,
    usize::MAX / 8 + 1,
    1 << 62,
    (1 << 60) + 1,
    1 << 47,
    1 << 40,
    1 << 33,
    (1 << 32) - 1,
];

const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-3,
    0.9,
    1e300,
    -1e300,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
];

const INTEGERS: [i64; 10] = [0, 1, -1, 2, 7, 255, 256, i64::MAX, i64::MIN, i32::MIN as i64 - 1];

impl Draw {
    pub(crate) fn flag(&mut self) -> Option<bool> {
        let flag = self.rng.one_in(2);
        Some(self.told("bool", flag))
    }

    pub(crate) fn size(&mut self) -> Option<usize> {
        let size = match self.rng.below(8) {
            0 => 0,
            1 => 1,
            2 => self.rng.pick(&HUGE),
            3 => 1000 + self.rng.below(5000),
            _ => self.rng.below(9),
        };
        Some(self.told("usize", size))
    }

    pub(crate) fn maybe_size(&mut self) -> Option<Option<usize>> {
        Some(if self.rng.one_in(3) { None } else { self.size() })
    }

    pub(crate) fn small_size(&mut self) -> Option<u32> {
        let size = self.rng.pick(&[0, 1, 2, 32, 256, 1024, 1025, 49152, u32::MAX, i32::MAX as u32]);
        Some(self.told("u32", size))
    }

    pub(crate) fn small_integer(&mut self) -> Option<i32> {
        let integer = self.rng.pick(&[0, 1, -1, -2, 7, i32::MAX, i32::MIN]);
        Some(self.told("i32", integer))
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        Some(self.rng.next() as u8)
    }

    pub(crate) fn word(&mut self) -> Option<u64> {
        let word = match self.rng.below(4) {
            0 => u64::MAX,
            1 => self.rng.next(),
            _ => self.rng.below(5) as u64,
        };
        Some(self.told("u64", word))
    }

    pub(crate) fn maybe_number(&mut self) -> Option<Option<u64>> {
        Some(if self.rng.one_in(3) { None } else { self.word() })
    }

    pub(crate) fn grid(&mut self) -> Option<[u32; 3]> {
        Some([self.small_size()?, self.small_size()?, self.small_size()?])
    }

    /// A dimension, mostly of those that small tensors have.
    pub(crate) fn dim(&mut self) -> Option<isize> {
        let dim = match self.rng.below(20) {
            0 => isize::MIN,
            1 => isize::MAX,
            2 => self.rng.below(200) as isize - 100,
            _ => self.rng.below(6) as isize - 2,
        };
        Some(self.told("isize", dim))
    }

    pub(crate) fn maybe_dim(&mut self) -> Option<Option<isize>> {
        Some(if self.rng.one_in(3) { None } else { self.dim() })
    }

    /// The dimensions of a reduction: none, one or several, kept or not.
    pub(crate) fn reduce_dims(&mut self) -> Option<ReduceDims> {
        let dims = if self.rng.one_in(2) { vec![self.dim()?] } else { self.dims()? };
        let dims = ReduceDims::from(dims).keepdim(self.flag()?);
        Some(self.told("ReduceDims", dims))
    }

    pub(crate) fn dims(&mut self) -> Option<Vec<isize>> {
        let count = self.rng.below(4);
        let first = self.rng.below(2) as isize;
        // Mostly an order of dimensions, as `permute` takes it.
        if self.rng.one_in(2) {
            let dims = (0..count as isize).map(|dim| dim.wrapping_sub(first)).collect();
            return Some(self.told("&[isize]", dims));
        }
        (0..count).map(|_| self.dim()).collect()
    }

    /// A few sizes whose product is small, or whatever it is.
    pub(crate) fn sizes(&mut self) -> Option<Vec<usize>> {
        let count = self.rng.below(5);
        let absurd = self.rng.one_in(12);
        let size = |draw: &mut Draw| match absurd {
            true => draw.size().unwrap_or(0),
            false => draw.rng.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 7]),
        };
        let sizes: Vec<usize> = (0..count).map(|_| size(self)).collect();
        Some(self.told("sizes", sizes))
    }

    pub(crate) fn part(&mut self) -> Option<Range<usize>> {
        Some(self.size()?..self.size()?)
    }

    pub(crate) fn number(&mut self) -> Option<f64> {
        let number = self.rng.pick(&NUMBERS);
        Some(self.told("f64", number))
    }

    pub(crate) fn integer(&mut self) -> Option<i64> {
        let integer = self.rng.pick(&INTEGERS);
        Some(self.told("i64", integer))
    }

    pub(crate) fn scalar(&mut self) -> Option<Scalar> {
        let scalar = match self.rng.below(8) {
            0 => Scalar::Bool(self.rng.one_in(2)),
            1 | 2 => Scalar::Int(self.rng.pick(&INTEGERS)),
            3 => Scalar::Int(self.rng.below(5) as i64),
            _ => Scalar::Float(self.rng.pick(&NUMBERS)),
        };
        Some(self.told("scalar", scalar))
    }

    pub(crate) fn steps(&mut self) -> Option<Steps> {
        let steps = if self.rng.one_in(3) {
            (self.number()?, self.number()?, self.number()?).into()
        } else if self.rng.one_in(2) {
            (self.integer()?, self.integer()?, self.integer()?).into()
        } else {
            (0, self.rng.below(50) as i64, 1 + self.rng.below(3) as i64).into()
        };
        Some(self.told("steps", steps))
    }

    pub(crate) fn duration(&mut self) -> Option<Duration> {
        Some(self.rng.pick(&[Duration::ZERO, Duration::from_nanos(1), Duration::MAX]))
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let text = match self.rng.below(5) {
            0 => String::new(),
            1 => "a\0b".to_owned(),
            2 => "\u{1f600}\"<&\\\n".to_owned(),
            3 => "x".repeat(10_000),
            _ => "add_f32".to_owned(),
        };
        Some(self.told("text", text))
    }

    pub(crate) fn bytes(&mut self) -> Option<Vec<u8>> {
        let count = self.rng.below(200);
        Some((0..count).map(|_| self.rng.next() as u8).collect())
    }

    pub(crate) fn generator_state(&mut self) -> Option<GeneratorState> {
        Some(GeneratorState { seed: self.word()?, draws: self.word()? })
    }
}
