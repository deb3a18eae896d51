//! The launch file: finds the kernel of an operation and enqueues it, in order between streams.

use std::sync::{Mutex, OnceLock, PoisonError};

use gpu_runtime::{
    Access, ByValue, Device, DevicePtr, Function, Module, MemoryUse, Uses, is_observed, ordered,
};
use smallvec::SmallVec;

use super::captured::note_write;
use super::family::Family;
use crate::placement::Place;
use crate::storage::{HostMemory, Memory, Storage};
use crate::{DType, Error, Result, Tensor};

/// Blocks of 256 threads that a multiprocessor holds at one time, on every architecture so far.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The kernels of one operation that were loaded so far, by device and dtype. After the first launch
/// finding one is two array accesses: no formatting, no map, no lock.
pub(super) struct KernelTable(OnceLock<Box<[OnceLock<Kernel>]>>);

/// A loaded kernel, and what its launches need to know of its device.
struct Kernel {
    function: Function,
    /// How many blocks of 256 threads fill the device.
    blocks: u32,
}

/// Enqueues the call on the device's current stream.
///
/// # Safety
/// As `Operation::run`.
#[track_caller]
pub(super) unsafe fn launch<P: Family>(
    op: &'static str,
    table: &KernelTable,
    dtype: DType,
    device: Device,
    operands: &[(&Tensor, Access)],
    call: &P,
) -> Result<()> {
    let kernel = table.get(op, dtype, device)?;
    let stream = device.current_stream_ref()?;
    let uses: SmallVec<[MemoryUse<'_>; 6]> =
        operands.iter().flat_map(|&(tensor, access)| self::operands(tensor, access)).collect();
    ordered(&stream, &uses, || {
        // SAFETY: the caller promises that the struct describes memory of the operands, whose
        // records are held and marked here; the allocator keeps memory until its uses are done.
        unsafe { kernel.function.launch(&stream, call.launch(kernel.blocks), (ByValue(call),)) }
    })?;
    let mut written = operands.iter().filter(|(_, access)| *access == Access::Write);
    written.try_for_each(|(tensor, _)| note_write(&stream, tensor))
}

/// What orders the memory's users: nothing for ordinary host memory, which has its lock.
pub(super) fn uses_of(storage: &Storage) -> Option<&Uses> {
    match storage.memory() {
        Memory::Cuda(memory) => Some(memory.uses()),
        Memory::Host(HostMemory::Pinned(memory)) => Some(memory.uses()),
        Memory::Host(HostMemory::Heap(_)) => None,
    }
}

/// A tensor as an operand of a launch: its memory's uses, and where somebody looks at the program
/// each range of the memory.
fn operands(tensor: &Tensor, access: Access) -> SmallVec<[MemoryUse<'_>; 1]> {
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

    fn get(&self, op: &'static str, dtype: DType, device: Device) -> Result<&Kernel> {
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
                let kernel = Kernel::load(op, dtype, device)?;
                Ok(slot.get_or_init(|| kernel))
            }
        }
    }
}

impl Kernel {
    #[cold]
    fn load(op: &'static str, dtype: DType, device: Device) -> Result<Kernel> {
        let entry = format!("{op}_{}", dtype.short_name());
        let embedded = kernels::module_of(&entry).ok_or_else(|| Error::UnsupportedDType {
            op,
            dtype,
            device: Place::Cuda(device).device(),
        })?;
        let function = module(device, embedded)?.function(&entry)?;
        let multiprocessors = device.properties()?.multiprocessors;
        Ok(Kernel { function, blocks: multiprocessors * BLOCKS_PER_MULTIPROCESSOR })
    }
}

/// The module on the device, loaded at the first use of one of its kernels and kept.
fn module(device: Device, embedded: &'static kernels::KernelModule) -> Result<Module> {
    static LOADED: Mutex<Vec<(Device, &'static str, Module)>> = Mutex::new(Vec::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = loaded.iter().find(|(d, name, _)| *d == device && *name == embedded.name);
    if let Some((_, _, module)) = known {
        return Ok(module.clone());
    }
    // SAFETY: the images are what nvcc made of our own kernels when the crate was built.
    let module = unsafe { device.load_binary(embedded.image)? };
    module.mark_cached();
    loaded.push((device, embedded.name, module.clone()));
    Ok(module)
}
