//! Random programs made of bytes, for the fuzz targets in `fuzz/` and, with random bytes, for a test
//! on stable Rust.

use proptest::prelude::*;

use crate::test_source::Fault;
use crate::{certificate, effort, host_model, pytorch_model, stitched_model};

/// Bytes that choices are made by. When they have come to an end, the first of each is chosen.
pub(crate) struct Draws<'a>(&'a [u8]);

impl Draws<'_> {
    fn byte(&mut self) -> u8 {
        let (byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *byte
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        u64::from(u16::from_le_bytes([self.byte(), self.byte()])) % end
    }

    /// The index of one of so many.
    pub(crate) fn one_of(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    pub(crate) fn index(&mut self) -> usize {
        self.byte().into()
    }

    pub(crate) fn is_set(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    pub(crate) fn fault(&mut self) -> Fault {
        if self.is_set() { Fault::Broken } else { Fault::Exhausted }
    }

    /// A size of less than twice a power of two, each of which is equally likely.
    pub(crate) fn size(&mut self, most: u32) -> u64 {
        let power = self.below(u64::from(most) + 1);
        (1 << power) + ((u128::from(self.below(256)) << power) >> 8) as u64
    }

    /// The same, or now and then a size that no device has.
    pub(crate) fn any_size(&mut self, most: u32) -> u64 {
        if self.below(32) == 31 { self.size(63) } else { self.size(most) }
    }

    /// Up to so many steps, until the bytes come to an end.
    pub(crate) fn steps<T>(&mut self, most: usize, step: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut steps = Vec::new();
        while !self.0.is_empty() && steps.len() < effort::steps(most).end {
            steps.push(step(self));
        }
        steps
    }
}

/// Runs a program on one of the policies, which the first byte names, against a model of it.
///
/// # Panics
/// When the policy does something else than the model.
pub(crate) fn run_program(bytes: &[u8]) {
    let mut draws = Draws(bytes);
    match draws.below(4) {
        0 => certificate::run_drawn(&mut draws),
        1 => stitched_model::run_drawn(&mut draws),
        2 => pytorch_model::run_drawn(&mut draws),
        _ => host_model::run_drawn(&mut draws),
    }
}

proptest! {
    #![proptest_config(effort::cases(60))]

    #[test]
    fn programs_made_of_bytes_run_as_the_models_say(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        run_program(&bytes);
    }
}
