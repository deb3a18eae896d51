//! Launches on CUDA: finds the kernel of an operator for a device and a dtype, and enqueues it,
//! ordered against the other streams that use the operands.

use std::sync::OnceLock;

use gpu_runtime::{
    Access, ByValue, Device, DevicePtr, Function, LaunchConfig, MemoryUse, Module, Uses,
    is_observed, ordered,
};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::captured::note_write;
use super::kernel_args::KernelArgs;
use crate::resolved_device::ResolvedDevice;
use crate::storage::{HostMemory, Storage, StorageMemory};
use crate::{DType, Error, Result, Tensor};

/// The number of blocks of 256 threads that are resident on a multiprocessor at a time, on every
/// architecture so far.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The kernels of one operator that were loaded so far, by device and dtype. After the first
/// launch, finding one takes two array accesses: no formatting, no map, no lock.
pub(super) struct KernelTable(OnceLock<Box<[OnceLock<LoadedKernel>]>>);

/// A kernel that was loaded on a device, and the grid that fills the device.
struct LoadedKernel {
    function: Function,
    /// The number of blocks of 256 threads that fill the device.
    blocks: u32,
}

/// Enqueues the call on the device's current stream.
///
/// # Safety
/// The conditions of `Operator::run`: the call's addresses are those of `operands` or lie in their
/// memory, are reachable from the device, and are what the struct of arguments and the operator's
/// signature say for `dtype`.
#[track_caller]
pub(super) unsafe fn launch<P: KernelArgs>(
    op: &'static str,
    table: &KernelTable,
    dtype: DType,
    device: Device,
    operands: &[(&Tensor, Access)],
    call: &P,
) -> Result<()> {
    let kernel = table.get(op, dtype, device)?;
    let grid = call.launch(kernel.blocks);
    // SAFETY: the kernel takes this struct, which describes memory of the operands (a condition of
    // this function).
    unsafe { enqueue(device, operands, &kernel.function, grid, call) }
}

/// Enqueues a launch of a kernel that takes one struct on the device's current stream, ordered
/// against other uses of the operands.
///
/// # Safety
/// The kernel takes a `P`, and accesses no memory but that of the operands, which is reachable from
/// the device, and of it no elements but theirs.
#[track_caller]
pub(super) unsafe fn enqueue<P: Copy>(
    device: Device,
    operands: &[(&Tensor, Access)],
    function: &Function,
    grid: LaunchConfig,
    arguments: &P,
) -> Result<()> {
    let stream = device.current_stream_ref()?;
    let uses: SmallVec<[MemoryUse<'_>; 6]> =
        operands.iter().flat_map(|&(tensor, access)| self::operands(tensor, access)).collect();
    ordered(&stream, &uses, || {
        // SAFETY: the struct describes memory of the operands (a condition of this function), whose
        // records are held and marked here; the allocator keeps memory until its uses are done.
        unsafe { function.launch(&stream, grid, (ByValue(arguments),)) }
    })?;
    let mut written = operands.iter().filter(|(_, access)| *access == Access::Write);
    written.try_for_each(|(tensor, _)| note_write(&stream, tensor))
}

/// The record of the streams that use a storage's memory; pageable memory has none, but a lock.
pub(super) fn uses_of(storage: &Storage) -> Option<&Uses> {
    match storage.memory() {
        StorageMemory::Cuda(memory) => Some(memory.uses()),
        StorageMemory::Host(HostMemory::Pinned(memory)) => Some(memory.uses()),
        StorageMemory::Host(HostMemory::Pageable(_)) => None,
    }
}

/// A tensor as an operand of a launch: the use record of its memory, and if there are observers,
/// each range of memory that its elements lie in.
pub(super) fn operands(tensor: &Tensor, access: Access) -> SmallVec<[MemoryUse<'_>; 1]> {
    let whole = uses_of(tensor.storage()).map(|uses| MemoryUse::new(uses, access));
    match whole {
        Some(operand) if is_observed() => tensor
            .accesses(access)
            .map(|part| operand.over(DevicePtr::from_address(part.start), part.bytes))
            .collect(),
        whole => whole.into_iter().collect(),
    }
}

impl KernelTable {
    pub(super) const fn new() -> KernelTable {
        KernelTable(OnceLock::new())
    }

    fn get(&self, op: &'static str, dtype: DType, device: Device) -> Result<&LoadedKernel> {
        let slots = match self.0.get() {
            Some(slots) => slots,
            None => {
                let count = Device::count()? * DType::ALL.len();
                self.0.get_or_init(|| (0..count).map(|_| OnceLock::new()).collect())
            }
        };
        let slot = &slots[device.index() * DType::ALL.len() + dtype.index()];
        match slot.get() {
            Some(kernel) => Ok(kernel),
            None => {
                let kernel = LoadedKernel::load(op, dtype, device)?;
                Ok(slot.get_or_init(|| kernel))
            }
        }
    }
}

impl LoadedKernel {
    #[cold]
    fn load(op: &'static str, dtype: DType, device: Device) -> Result<LoadedKernel> {
        let found = kernels::kernel(op, dtype.short_name());
        let (embedded, entry) = found.ok_or_else(|| Error::UnsupportedDType {
            op,
            dtype,
            device: ResolvedDevice::Cuda(device).to_device(),
        })?;
        let function = module(device, embedded)?.function(entry)?;
        let multiprocessors = device.properties()?.multiprocessors;
        Ok(LoadedKernel { function, blocks: multiprocessors * BLOCKS_PER_MULTIPROCESSOR })
    }
}

/// The module of the crate `kernels` on a device. It is loaded at the first use of one of its
/// kernels, and stays loaded.
fn module(device: Device, embedded: &'static kernels::KernelModule) -> Result<Module> {
    static LOADED: Mutex<Vec<(Device, &'static str, Module)>> = Mutex::new(Vec::new());
    let mut loaded = LOADED.lock();
    let known = loaded.iter().find(|(d, name, _)| *d == device && *name == embedded.name);
    if let Some((_, _, module)) = known {
        return Ok(module.clone());
    }
    // SAFETY: the images are what nvcc made of our own kernels when the crate was built.
    let module = unsafe { device.load_binary(embedded.image())? };
    module.mark_cached();
    loaded.push((device, embedded.name, module.clone()));
    Ok(module)
}
