//! Which bytes of a block's shared memory or a thread's local memory somebody has written.

use std::ops::Range;

/// A bit for each byte.
pub(crate) struct InitializedBits(Vec<u64>);

impl InitializedBits {
    pub(crate) fn new(bytes: usize) -> InitializedBits {
        InitializedBits(vec![0; bytes.div_ceil(64)])
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether any byte of a range was written, which does not cross a multiple of 64.
    pub(crate) fn any(&self, range: &Range<u64>) -> bool {
        self.0.get((range.start / 64) as usize).is_some_and(|word| word & bits(range) != 0)
    }

    /// Marks a range as written.
    pub(crate) fn set(&mut self, range: &Range<u64>) {
        self.change(range, |word, bits| *word |= bits);
    }

    /// Marks a range as not written.
    pub(crate) fn unset(&mut self, range: &Range<u64>) {
        self.change(range, |word, bits| *word &= !bits);
    }

    fn change(&mut self, range: &Range<u64>, change: impl Fn(&mut u64, u64)) {
        let mut start = range.start;
        while start < range.end {
            let end = (start / 64 * 64 + 64).min(range.end);
            if let Some(word) = self.0.get_mut((start / 64) as usize) {
                change(word, bits(&(start..end)));
            }
            start = end;
        }
    }
}

/// The bits of a range in the word that it lies in.
fn bits(range: &Range<u64>) -> u64 {
    let count = range.end - range.start;
    let ones = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    ones << (range.start % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_and_only_that_was_written() {
        let mut written = InitializedBits::new(200);
        written.set(&(60..140));
        assert!([56..64, 136..144, 64..96].iter().all(|range| written.any(range)));
        assert!(![48..60, 140..144, 192..200].iter().any(|range| written.any(range)));
        written.unset(&(62..130));
        assert!(written.any(&(60..62)) && !written.any(&(64..128)) && written.any(&(130..140)));
        written.clear();
        assert!(!written.any(&(64..128)));
    }
}
