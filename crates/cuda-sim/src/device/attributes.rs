//! What a device says of itself: in what it can do, a Tesla T4; where speed is concerned, a
//! machine of no great promise.

use cuda_sys::CUdevice_attribute as Attribute;

use super::properties::DeviceId;
use super::virtual_memory::physical;
use crate::config::{Capability, Config};

/// Threads of a block in all.
pub(crate) const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Threads of a block per axis.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid per axis.
pub(crate) const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];
/// Threads that move in lockstep.
pub(crate) const WARP: u32 = 32;
/// Shared memory that a block has without asking for more.
pub(crate) const STATIC_SHARED: u32 = ptx_jit::MAX_STATIC_SHARED_BYTES as u32;
/// Shared memory that a block may have if it asks.
pub(crate) const STATIC_SHARED_OPTIN: u32 = 64 << 10;
/// Multiprocessors, and what fits on one.
pub(crate) const MULTIPROCESSORS: u32 = 40;
pub(crate) const THREADS_PER_MULTIPROCESSOR: u32 = 1024;
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 16;
pub(crate) const SHARED_PER_MULTIPROCESSOR: u32 = 64 << 10;

/// The value of an attribute; `None` for those that cuda.h does not name.
pub(crate) fn attribute(device: DeviceId, config: &Config, attribute: Attribute) -> Option<i32> {
    let &Config { capability: Capability { major, minor }, virtual_memory, .. } = config;
    let [domain, bus, slot] = device.pci().map(signed);
    match attribute {
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => {
            return Some(signed(major));
        }
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => {
            return Some(signed(minor));
        }
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID => return Some(domain),
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID => return Some(bus),
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID => return Some(slot),
        Attribute::CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID => {
            return Some(signed(device.physical));
        }
        Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED => {
            return Some(i32::from(virtual_memory && physical::is_possible()));
        }
        _ => {}
    }
    let known = TABLE.iter().find(|(listed, _)| *listed == attribute);
    let named = (1..Attribute::CU_DEVICE_ATTRIBUTE_MAX.0).contains(&attribute.0);
    // What the table does not list is a feature that the device does not have.
    known.map(|&(_, value)| value).or(named.then_some(0))
}

const fn signed(value: u32) -> i32 {
    value as i32
}

/// The greatest distance of rows that two-dimensional copies take.
pub(crate) const LARGEST_PITCH: i32 = i32::MAX;

#[rustfmt::skip]
const TABLE: &[(Attribute, i32)] = &[
    // Launches.
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, signed(MAX_THREADS_PER_BLOCK)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, signed(MAX_BLOCK[0])),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, signed(MAX_BLOCK[1])),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, signed(MAX_BLOCK[2])),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, signed(MAX_GRID[0])),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, signed(MAX_GRID[1])),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, signed(MAX_GRID[2])),
    (Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE, signed(WARP)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, signed(STATIC_SHARED)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, signed(STATIC_SHARED_OPTIN)),
    (Attribute::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 64 << 10),
    // Multiprocessors.
    (Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, signed(MULTIPROCESSORS)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, signed(THREADS_PER_MULTIPROCESSOR)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, signed(BLOCKS_PER_MULTIPROCESSOR)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, signed(SHARED_PER_MULTIPROCESSOR)),
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 64 << 10),
    (Attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 32),
    // Clocks in kHz, the memory bus in bits.
    (Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1_590_000),
    (Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 5_001_000),
    (Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256),
    (Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20),
    (Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1),
    // Memory and copies.
    (Attribute::CU_DEVICE_ATTRIBUTE_MAX_PITCH, LARGEST_PITCH),
    (Attribute::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2),
    (Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
    (Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
    // Textures cannot be made here; their limits are asked for all the same.
    (Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
    (Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32),
    (Attribute::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512),
    // Not part of a NUMA node.
    (Attribute::CU_DEVICE_ATTRIBUTE_NUMA_ID, -1),
    (Attribute::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_cuda_h_has_a_value_and_no_other() {
        let device = DeviceId { ordinal: 0, physical: 1 };
        let value = |number| attribute(device, &Config::default(), Attribute(number));
        assert!((1..Attribute::CU_DEVICE_ATTRIBUTE_MAX.0).all(|number| value(number).is_some()));
        assert_eq!(value(0), None);
        assert_eq!(value(Attribute::CU_DEVICE_ATTRIBUTE_MAX.0), None);
        assert_eq!(value(33), Some(0x11));
    }
}
