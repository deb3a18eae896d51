//! Choices read from bytes: what a random program is made from, so that cutting bytes makes a
//! smaller program.

/// Bytes that are read one after the other; at their end all choices are the first.
pub(super) struct Tape<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Tape<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Tape<'a> {
        Tape { bytes: bytes.iter() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.len() == 0
    }

    /// A number below `count`, which is at most 256.
    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % count
    }

    /// One of these.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// True about once in `times`, and not at the end.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// A number of 32 bits, often a small one, a power of two, or its neighbour.
    pub(super) fn word(&mut self) -> u32 {
        let shift = self.below(32) as u32;
        match self.below(5) {
            0 => self.below(16) as u32,
            1 => 1 << shift,
            2 => (1u32 << shift).wrapping_sub(1),
            3 => (self.below(256) as u32) << (shift % 25),
            _ => (self.below(256) as u32).wrapping_mul(0x0101_2345).wrapping_sub(shift),
        }
    }
}
