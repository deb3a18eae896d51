//! Which checks are made.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};
use std::str::FromStr;

/// A set of checks, as `CUDA_SIM_CHECK` lists them: `memory,init`, or `1` for all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CheckKinds(u8);

impl CheckKinds {
    /// No checks: they cost nothing.
    pub const NONE: CheckKinds = CheckKinds(0);
    /// Accesses outside allocations, after a free, misaligned, to memory that kernels may only
    /// read, to host memory, to other devices without peer access.
    pub const MEMORY: CheckKinds = CheckKinds(1);
    /// Reads of memory that nobody wrote.
    pub const INIT: CheckKinds = CheckKinds(1 << 1);
    /// Races in shared memory, and barriers and shuffles that are used wrongly.
    pub const SHARED: CheckKinds = CheckKinds(1 << 2);
    /// Races in global memory between the threads of a launch.
    pub const GLOBAL: CheckKinds = CheckKinds(1 << 3);
    /// Races between launches, copies and fills of different streams and devices.
    pub const STREAMS: CheckKinds = CheckKinds(1 << 4);
    /// Objects and memory that were not given back.
    pub const LEAKS: CheckKinds = CheckKinds(1 << 5);
    /// Everything.
    pub const ALL: CheckKinds = CheckKinds((1 << 6) - 1);

    const NAMES: [(&str, CheckKinds); 6] = [
        ("memory", CheckKinds::MEMORY),
        ("init", CheckKinds::INIT),
        ("shared", CheckKinds::SHARED),
        ("global", CheckKinds::GLOBAL),
        ("streams", CheckKinds::STREAMS),
        ("leaks", CheckKinds::LEAKS),
    ];

    /// Whether one of those checks is in the set.
    #[must_use]
    pub const fn has(self, any: CheckKinds) -> bool {
        self.0 & any.0 != 0
    }

    /// Whether there are no checks in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> CheckKinds {
        CheckKinds(bits)
    }
}

impl BitOr for CheckKinds {
    type Output = CheckKinds;

    fn bitor(self, other: CheckKinds) -> CheckKinds {
        CheckKinds(self.0 | other.0)
    }
}

impl BitOrAssign for CheckKinds {
    fn bitor_assign(&mut self, other: CheckKinds) {
        *self = *self | other;
    }
}

impl fmt::Display for CheckKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = CheckKinds::NAMES.iter().filter(|(_, kind)| self.has(*kind));
        let names: Vec<&str> = names.map(|&(name, _)| name).collect();
        f.write_str(&if names.is_empty() { "none".to_owned() } else { names.join(",") })
    }
}

impl fmt::Debug for CheckKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A list of checks with a word that names none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of checks")]
pub struct UnknownCheck(String);

impl FromStr for CheckKinds {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<CheckKinds, UnknownCheck> {
        match text {
            "1" | "true" | "on" | "all" => return Ok(CheckKinds::ALL),
            "" | "0" | "false" | "off" | "none" => return Ok(CheckKinds::NONE),
            _ => {}
        }
        let mut kinds = CheckKinds::NONE;
        for word in text.split(',').map(str::trim) {
            let known = CheckKinds::NAMES.iter().find(|(name, _)| *name == word);
            kinds |= known.ok_or_else(|| UnknownCheck(word.to_owned()))?.1;
        }
        Ok(kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back_as_it_is_written() {
        for bits in 0..=CheckKinds::ALL.bits() {
            let kinds = CheckKinds::from_bits(bits);
            assert_eq!(kinds.to_string().parse(), Ok(kinds));
        }
    }

    #[test]
    fn one_is_everything_and_a_word_that_names_nothing_an_error() {
        assert_eq!("1".parse(), Ok(CheckKinds::ALL));
        assert_eq!("off".parse(), Ok(CheckKinds::NONE));
        assert_eq!("init, leaks".parse(), Ok(CheckKinds::INIT | CheckKinds::LEAKS));
        assert_eq!("init,speed".parse::<CheckKinds>(), Err(UnknownCheck("speed".to_owned())));
    }
}
