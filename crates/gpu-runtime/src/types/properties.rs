//! The properties of devices: names, sizes, limits.

/// The properties of a device: its name, size and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The product's name.
    pub name: String,
    /// The device's own identity, the same in every process and whatever devices are hidden.
    pub uuid: [u8; 16],
    /// The device's address on the PCI bus, as `domain:bus:device.function`.
    pub pci_bus_id: String,
    /// The compute capability, as (major, minor).
    pub compute_capability: (u32, u32),
    /// Memory, in bytes.
    pub total_memory: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Threads that run in lockstep.
    pub warp_size: u32,
    /// The most threads of a block.
    pub max_threads_per_block: u32,
    /// The most threads of a block in each dimension.
    pub max_block: [u32; 3],
    /// The most blocks of a grid in each dimension.
    pub max_grid: [u32; 3],
    /// The most threads on one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Shared memory of a block that every kernel may use, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory of a block that a kernel may ask for
    /// ([`Function::allow_shared_bytes`](crate::Function::allow_shared_bytes)), in bytes.
    pub max_shared_bytes_per_block: u32,
    /// Second-level cache, in bytes.
    pub l2_cache_bytes: u32,
}

/// The memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The bytes that could be allocated if they were in one piece.
    pub free: usize,
    /// All there is.
    pub total: usize,
}
