//! Sizes as people write them.

use std::fmt;

/// A number of bytes, shown in the largest unit that leaves a number of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

const UNITS: [(&str, u64); 6] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match UNITS.iter().find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) => format!("{:.2} {name}", self.0 as f64 / *unit as f64),
            None => format!("{} B", self.0),
        };
        f.pad(&text)
    }
}

/// Reads a size such as `4096`, `512MiB` or `8 GiB`; nothing if it is none, or too large for the
/// numbers.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = UNITS.iter().copied().chain([("B", 1), ("", 1)]);
    let (digits, unit) =
        units.into_iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    digits.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_the_unit_that_suits_them() {
        let shown = [0, 1023, 1024, 20 << 20, 3 << 29].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "20.00 MiB", "1.50 GiB"]);
    }

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let read = ["4096", "64 B", "2KiB", " 8 GiB "].map(parse);
        assert_eq!(read, [Some(4096), Some(64), Some(2048), Some(8 << 30)]);
    }

    #[test]
    fn what_is_no_size_is_not_read() {
        for text in ["", "GiB", "-1", "1.5GiB", "8GB", "99999999999TiB"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
