//! Errors of reserved addresses and mappings.

use crate::types::Device;

/// Why addresses cannot be used so. Nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingProblem {
    /// Sizes and offsets go by pages.
    #[error("sizes and offsets must be multiples of {granularity} bytes, and sizes not zero")]
    Granularity {
        /// The bytes of a page.
        granularity: usize,
    },
    /// There are not that many addresses.
    #[error("only {reserved} bytes are reserved")]
    OutOfRange {
        /// The size of the reserved range.
        reserved: usize,
    },
    /// An address shows one piece of memory.
    #[error("something is mapped there already: unmap it first")]
    Occupied,
    /// A mapping is undone and given access to as a whole.
    #[error("the range must consist of whole mappings, with nothing missing between them")]
    NotWhole,
    /// Names of addresses and memory are good as long as those are.
    #[error("there are no such addresses, or there is no such memory, any more")]
    Unknown,
    /// Addresses show memory of the device that they were reserved for.
    #[error("the memory is that of {memory}")]
    OtherDevice {
        /// The device of the memory.
        memory: Device,
    },
}
