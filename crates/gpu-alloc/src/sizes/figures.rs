//! Sizes that are shown together, so that whoever reads them can tell them apart.

use std::fmt;

use crate::sizes::Bytes;

/// Sizes in bytes. Of two that differ and would be shown alike, both are shown with their bytes.
#[derive(Debug)]
pub(crate) struct Figures(Vec<u64>);

impl Figures {
    pub(crate) fn new(sizes: impl IntoIterator<Item = u64>) -> Figures {
        Figures(sizes.into_iter().collect())
    }

    /// One of the sizes, or another one beside them.
    pub(crate) fn show(&self, size: u64) -> ShownSize {
        let shown = Bytes(size).to_string();
        let is_alike = |other: &u64| *other != size && Bytes(*other).to_string() == shown;
        ShownSize { size, with_bytes: self.0.iter().any(is_alike) }
    }
}

/// A size among others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownSize {
    size: u64,
    with_bytes: bool,
}

impl fmt::Display for ShownSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with_bytes {
            false => Bytes(self.size).fmt(f),
            true => write!(f, "{} ({} bytes)", Bytes(self.size), self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_would_be_shown_alike_are_shown_with_their_bytes() {
        const GIB: u64 = 1 << 30;
        let figures = Figures::new([2 * GIB, 2 * GIB + 1, 3 * GIB, 3 * GIB]);
        assert_eq!(figures.show(2 * GIB).to_string(), "2.00 GiB (2147483648 bytes)");
        assert_eq!(figures.show(2 * GIB + 1).to_string(), "2.00 GiB (2147483649 bytes)");
        assert_eq!(figures.show(3 * GIB).to_string(), "3.00 GiB");
        assert_eq!(figures.show(3 * GIB - 1).to_string(), "3.00 GiB (3221225471 bytes)");
    }
}
