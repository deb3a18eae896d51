//! The memory that a child may have.

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, setrlimit};

/// The number of cases that a child is given at a time: enough that its start does not count.
pub(crate) const PORTION: u64 = 5_000;
/// The same of programs, which take longer.
pub(crate) const PORTION_OF_PROGRAMS: u64 = 100;

const TWO_GIB: u64 = 2 << 30;

/// The resource that is limited to 2 GiB. Children alternate, by the case that they begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ration {
    /// The address space. The driver then reserves no more addresses than the devices' memory
    /// takes, which is too little for policies that map memory page by page: Sluice's own reserves
    /// 8 GiB of addresses at a time. So the devices have no virtual memory here, and PyTorch's
    /// policy serves.
    AddressSpace,
    /// The writable memory (`RLIMIT_DATA`). Addresses are free, the devices have virtual memory,
    /// and Sluice's own policy serves.
    Data,
}

impl Ration {
    pub(crate) fn of(case: u64) -> Ration {
        if (case / PORTION).is_multiple_of(2) { Ration::AddressSpace } else { Ration::Data }
    }

    /// The variables that the child's driver reads.
    pub(crate) fn environment(self) -> [(&'static str, &'static str); 1] {
        let has_virtual_memory = match self {
            Ration::AddressSpace => "0",
            Ration::Data => "1",
        };
        [("CUDA_SIM_VIRTUAL_MEMORY", has_virtual_memory)]
    }

    /// Limits the calling process.
    pub(crate) fn impose(self) -> Result<()> {
        let resource = match self {
            Ration::AddressSpace => Resource::As,
            Ration::Data => Resource::Data,
        };
        let limit = Rlimit { current: Some(TWO_GIB), maximum: Some(TWO_GIB) };
        setrlimit(resource, limit).with_context(|| format!("cannot limit {self:?}"))
    }
}
