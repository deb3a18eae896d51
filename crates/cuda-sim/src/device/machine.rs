//! The simulated machine: its devices and all that lives on them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::code::library::{Library, LibraryKernel};
use super::code::linker::Linker;
use super::code::module::{ContextModule, KernelFunction};
use super::contexts::array::Array;
use super::contexts::context::Context;
use super::gpu::{Device, device_at};
use super::memory::page_locked::PageLockedMemory;
use super::pool::pools::Pools;
use super::properties::DeviceId;
use super::registry::{HandleKind, Registry};
use super::streams::event::Event;
use super::streams::stream::Stream;
use super::virtual_memory::mappings::VirtualMemoryManager;
use super::visible::visible_devices;
use super::why_not::note_why_not_initialised;
use crate::config::{Config, Schedule, code_cache};
use crate::queue::Scheduler;
use crate::time;

/// The machine. There is one, made by `cuInit`, and it lives as long as the process.
pub(crate) struct SimulatedMachine {
    pub(crate) config: Config,
    pub(crate) devices: Vec<Device>,
    pub(crate) host_memory: PageLockedMemory,
    pub(crate) virtual_memory: VirtualMemoryManager,
    pub(crate) pools: Pools,
    pub(crate) arrays: Registry<Array>,
    pub(crate) scheduler: &'static Scheduler,
    pub(crate) contexts: Registry<Context>,
    pub(crate) streams: Registry<Stream>,
    pub(crate) events: Registry<Event>,
    pub(crate) modules: Registry<ContextModule>,
    pub(crate) functions: Registry<KernelFunction>,
    pub(crate) libraries: Registry<Library>,
    pub(crate) kernels: Registry<LibraryKernel>,
    pub(crate) linkers: Registry<Mutex<Linker>>,
    /// Makes the configured faults happen, when the machine is made and after each reset.
    inject_faults: FaultInjector,
    /// Counts resets: what a thread remembers from before one is void.
    epoch: AtomicU64,
}

/// Makes the faults happen that a machine is configured to have, or says in words why it cannot.
pub(crate) type FaultInjector = fn(&SimulatedMachine) -> Result<(), String>;

impl SimulatedMachine {
    /// Makes the machine that was configured.
    ///
    /// # Errors
    /// `CUDA_ERROR_NO_DEVICE` if no device is visible, `CUDA_ERROR_OUT_OF_MEMORY` if there is no
    /// address space for them, `CUDA_ERROR_INVALID_VALUE` for faults that it cannot have.
    pub(super) fn new(
        config: Config,
        inject_faults: FaultInjector,
    ) -> Result<SimulatedMachine, CUresult> {
        cuda_check::enable(config.check);
        cuda_check::print_reports(config.print_reports);
        code_cache::enable();
        let list = std::env::var_os("CUDA_VISIBLE_DEVICES");
        let list = list.as_ref().map(|list| list.to_string_lossy());
        let visible = visible_devices(list.as_deref(), config.devices);
        if visible.is_empty() {
            return Err(CUresult::CUDA_ERROR_NO_DEVICE);
        }
        let count = visible.len();
        let contexts = Registry::<Context>::new(HandleKind::Context);
        let make = |(ordinal, physical)| {
            let id = DeviceId { ordinal, physical };
            let primary = contexts.reserve().ok_or(io::ErrorKind::OutOfMemory)?;
            Device::new(id, config.memory_per_device, count, primary)
        };
        let devices = (0..).zip(visible).map(make).collect::<io::Result<Vec<_>>>();
        let devices = devices.map_err(|error| {
            let bytes = config.memory_per_device;
            note_why_not_initialised(format!(
                "there are not enough addresses for the memory of {count} devices with {bytes} \
                 bytes each ({error}): ask for fewer devices, or for less memory \
                 (CUDA_SIM_MEMORY=1GiB)"
            ));
            CUresult::CUDA_ERROR_OUT_OF_MEMORY
        })?;
        time::set(&config.time);
        let scheduler = Scheduler::new(config.workers);
        if config.schedule != Schedule::Fast {
            scheduler.set_schedule(&config.schedule);
        }
        let machine = SimulatedMachine {
            devices,
            host_memory: PageLockedMemory::default(),
            virtual_memory: VirtualMemoryManager::default(),
            pools: Pools::default(),
            arrays: Registry::new(HandleKind::Array),
            scheduler,
            contexts,
            streams: Registry::new(HandleKind::Stream),
            events: Registry::new(HandleKind::Event),
            modules: Registry::new(HandleKind::Module),
            functions: Registry::new(HandleKind::Function),
            libraries: Registry::new(HandleKind::Library),
            kernels: Registry::new(HandleKind::Kernel),
            linkers: Registry::new(HandleKind::Linker),
            inject_faults,
            epoch: AtomicU64::new(0),
            config,
        };
        machine.inject_faults().map_err(|error| {
            note_why_not_initialised(error);
            CUresult::CUDA_ERROR_INVALID_VALUE
        })?;
        Ok(machine)
    }

    /// Makes the configured faults happen.
    ///
    /// # Errors
    /// In words, if the machine cannot have them.
    pub(super) fn inject_faults(&self) -> Result<(), String> {
        (self.inject_faults)(self)
    }

    /// The device of that ordinal.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE`.
    pub(crate) fn device(&self, ordinal: i32) -> Result<&Device, CUresult> {
        let device = usize::try_from(ordinal).ok().and_then(|index| self.devices.get(index));
        device.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The device whose address range an address lies in, allocated or not.
    pub(crate) fn device_at(&self, address: u64) -> Option<&Device> {
        device_at(&self.devices, address)
    }

    /// The number of resets so far.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Makes void what threads remember.
    pub(super) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }
}
