//! Philox4x32-10, the counter-based generator of all random numbers, on the CPU and in the CUDA
//! kernels.
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The random words of one draw, four for each block. Those of a block follow from its number, the
/// seed and the offset alone, so elements can be computed in any order and on any device.
///
/// Elements take the words one after another: one each, or two where an element takes 64 bits. A
/// pair of normal numbers takes the words of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    /// The key.
    pub seed: u64,
    /// The number of the draw, the upper half of the counter; the lower half is the block.
    pub offset: u64,
}

impl Philox {
    /// The four random words of a block.
    ///
    /// ```
    /// use cpu_kernels::random::Philox;
    ///
    /// // The published answer for a counter and a key of zeros.
    /// let words = Philox { seed: 0, offset: 0 }.words(0);
    /// assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    /// ```
    #[inline(always)]
    pub fn words(self, number: u64) -> [u32; 4] {
        let (n, o) = (number, self.offset);
        block([n as u32, (n >> 32) as u32, o as u32, (o >> 32) as u32], self.key())
    }

    /// The 64 bits of an element that takes two words, the first of which has the upper ones.
    #[inline(always)]
    pub fn bits(self, element: u64) -> u64 {
        let words = self.words(element / 2);
        let first = (element % 2 * 2) as usize;
        join(words[first], words[first + 1])
    }

    #[inline(always)]
    fn key(self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }
}

/// The 64 bits of two words.
#[inline(always)]
pub(super) fn join(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// One block of the generator: ten rounds of the bijection that `key` chooses, applied to
/// `counter`.
#[inline(always)]
fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let products = [
            u64::from(MULTIPLIERS[0]) * u64::from(counter[0]),
            u64::from(MULTIPLIERS[1]) * u64::from(counter[2]),
        ];
        counter = [
            (products[1] >> 32) as u32 ^ counter[1] ^ key[0],
            products[1] as u32,
            (products[0] >> 32) as u32 ^ counter[3] ^ key[1],
            products[0] as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_published_known_answers() {
        // `philox4x32 10` of the file kat_vectors in Random123's distribution.
        let known = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([!0; 4], [!0; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, words) in known {
            assert_eq!(block(counter, key), words);
        }
    }

    #[test]
    fn seed_and_offset_fill_the_key_and_the_counter_low_word_first() {
        let philox = Philox { seed: 0x299f_31d0_a409_3822, offset: 0x0370_7344_1319_8a2e };
        assert_eq!(
            philox.words(0x85a3_08d3_243f_6a88),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
