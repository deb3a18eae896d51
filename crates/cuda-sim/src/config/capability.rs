//! Compute capabilities.

use std::fmt;

/// The generation of instructions that a device has, as NVIDIA numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// Within the generation, up to 9.
    pub minor: u32,
}

impl Default for Capability {
    /// 8.0, the least that has all of the tensor cores' instructions that the driver knows: compilers
    /// emit few exotic ones for it.
    fn default() -> Capability {
        Capability { major: 8, minor: 0 }
    }
}

impl Capability {
    /// The number that compilers write: 75 for 7.5.
    pub fn number(self) -> u32 {
        self.major.saturating_mul(10).saturating_add(self.minor)
    }

    /// Reads `7.5`, from 5.0 to 12.1.
    pub(super) fn parse(text: &str) -> Option<Capability> {
        let (major, minor) = text.split_once('.')?;
        let capability = Capability { major: major.parse().ok()?, minor: minor.parse().ok()? };
        let known = minor.len() == 1 && (50..=121).contains(&capability.number());
        known.then_some(capability)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
