//! One call to a source, and how it went.

use super::Physical;
use crate::policy::Address;

/// One call to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceCall {
    /// Memory was asked for, and given.
    Allocated {
        /// Its first byte.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// Memory was asked for, and refused.
    Refused {
        /// The size that was asked for.
        bytes: u64,
    },
    /// Memory was given back.
    Released {
        /// Its first byte.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// Addresses were asked for, and reserved.
    Reserved {
        /// The first.
        address: Address,
        /// The number of bytes.
        bytes: u64,
    },
    /// Addresses were asked for, and refused.
    ReserveRefused {
        /// The number of bytes.
        bytes: u64,
    },
    /// Reserved addresses were given back.
    Unreserved {
        /// The first.
        address: Address,
        /// The number of bytes.
        bytes: u64,
    },
    /// Physical memory was asked for, and made.
    Created {
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was asked for, and refused.
    CreateRefused {
        /// The size that was asked for.
        bytes: u64,
    },
    /// Physical memory was given back.
    Destroyed {
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was shown somewhere.
    Mapped {
        /// Its first byte.
        address: Address,
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was to be shown somewhere, and is not.
    MapRefused {
        /// The first byte of the range.
        address: Address,
        /// Its name.
        physical: Physical,
    },
    /// A range was made usable.
    AccessSet {
        /// Its first byte.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// A range was to be made usable, and is not.
    AccessRefused {
        /// Its first byte.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// The mappings of a range were ended.
    Unmapped {
        /// Its first byte.
        address: Address,
        /// Its size.
        bytes: u64,
    },
}
