//! The simulated machine: its devices and all that lives on them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_sys::CUresult;

use super::array::Array;
use super::at_exit;
use super::context::Context;
use super::event::Event;
use super::host_memory::HostMemory;
use super::library::{Library, LibraryKernel};
use super::linker::Linker;
use super::memory::DeviceMemory;
use super::module::{Function, Module};
use super::pool::Pools;
use super::properties::DeviceId;
use super::registry::{HandleKind, Registry};
use super::stream::Stream;
use super::virtual_memory::VirtualMemory;
use super::visible::visible_devices;
use super::why_not::note_why_not_initialised;
use crate::check;
use crate::config::{Config, PeerFault, Schedule};
use crate::graph::Graphs;
use crate::links;
use crate::queue::{Health, Scheduler};
use crate::time;

/// A simulated GPU.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    pub(crate) memory: DeviceMemory,
    pub(crate) health: Health,
    /// The handle of the primary context, which it keeps from one activation to the next.
    pub(super) primary_handle: u64,
    pub(super) primary_retains: Mutex<u32>,
    /// The flags of the primary context, active or not.
    primary_flags: AtomicU32,
}

/// The machine. There is one, made by `cuInit`, and it lives as long as the process.
pub(crate) struct Platform {
    pub(crate) config: Config,
    pub(crate) devices: Vec<Device>,
    pub(crate) host_memory: HostMemory,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) pools: Pools,
    pub(crate) arrays: Registry<Array>,
    pub(crate) scheduler: &'static Scheduler,
    pub(crate) contexts: Registry<Context>,
    pub(crate) streams: Registry<Stream>,
    pub(crate) events: Registry<Event>,
    pub(crate) modules: Registry<Module>,
    pub(crate) functions: Registry<Function>,
    pub(crate) graphs: Graphs,
    pub(crate) libraries: Registry<Library>,
    pub(crate) kernels: Registry<LibraryKernel>,
    pub(crate) linkers: Registry<Mutex<Linker>>,
    /// What makes configured faults happen, when the machine is made and after each reset.
    inject_faults: FaultInjector,
    /// Counts resets: what a thread remembers from before one is void.
    epoch: AtomicU64,
}

static PLATFORM: OnceLock<&'static Platform> = OnceLock::new();

/// True in a child that was forked from a process with a machine: workers do not survive `fork`.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The machine.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`, and in forked children.
pub(crate) fn platform() -> Result<&'static Platform, CUresult> {
    match PLATFORM.get() {
        Some(platform) if !FORKED.load(Ordering::Relaxed) => Ok(platform),
        _ => Err(CUresult::CUDA_ERROR_NOT_INITIALIZED),
    }
}

/// Makes the faults happen that a machine is configured to have, or says in words why it cannot.
pub(crate) type FaultInjector = fn(&Platform) -> Result<(), String>;

/// Makes the machine, if there is none yet. `configure` says what it is like.
///
/// # Errors
/// `CUDA_ERROR_NO_DEVICE` if no device is visible, `CUDA_ERROR_OUT_OF_MEMORY` if there is no
/// address space for them, and those of `configure`.
pub(crate) fn initialise(
    configure: impl FnOnce() -> Result<Config, CUresult>,
    inject_faults: FaultInjector,
) -> Result<(), CUresult> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if PLATFORM.get().is_none() {
        let platform = Platform::new(configure()?, inject_faults)?;
        // The lock is held, so nobody else can have set it.
        let _ = PLATFORM.set(Box::leak(Box::new(platform)));
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        at_exit::watch();
    }
    platform().map(drop)
}

impl Platform {
    fn new(config: Config, inject_faults: FaultInjector) -> Result<Platform, CUresult> {
        check::enable(config.check);
        let list = std::env::var_os("CUDA_VISIBLE_DEVICES");
        let list = list.as_ref().map(|list| list.to_string_lossy());
        let visible = visible_devices(list.as_deref(), config.devices);
        if visible.is_empty() {
            return Err(CUresult::CUDA_ERROR_NO_DEVICE);
        }
        let count = visible.len();
        let contexts = Registry::new(HandleKind::Context);
        let make = |(ordinal, physical)| {
            let id = DeviceId { ordinal, physical };
            Device::new(id, config.memory_per_device, count, &contexts)
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
        let platform = Platform {
            devices,
            host_memory: HostMemory::default(),
            virtual_memory: VirtualMemory::default(),
            pools: Pools::default(),
            arrays: Registry::new(HandleKind::Array),
            scheduler,
            contexts,
            streams: Registry::new(HandleKind::Stream),
            events: Registry::new(HandleKind::Event),
            modules: Registry::new(HandleKind::Module),
            functions: Registry::new(HandleKind::Function),
            graphs: Graphs::new(),
            libraries: Registry::new(HandleKind::Library),
            kernels: Registry::new(HandleKind::Kernel),
            linkers: Registry::new(HandleKind::Linker),
            inject_faults,
            epoch: AtomicU64::new(0),
            config,
        };
        (platform.inject_faults)(&platform).map_err(|error| {
            note_why_not_initialised(error);
            CUresult::CUDA_ERROR_INVALID_VALUE
        })?;
        Ok(platform)
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
        self.devices.iter().find(|device| device.memory.window().contains(&address))
    }

    /// How many resets there were.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Makes all devices as new. Waits for what runs, host functions included; what is queued is
    /// dropped.
    pub(crate) fn reset(&'static self) {
        self.devices.iter().for_each(|device| device.health.halt());
        self.scheduler.wait_for_everything();
        self.graphs.clear();
        for context in self.contexts.remove_all(|context| !context.is_primary) {
            context.destroy(self);
        }
        self.devices.iter().for_each(|device| device.deactivate(self));
        self.virtual_memory.reset(self);
        self.pools.reset();
        for device in &self.devices {
            device.memory.free_all(None);
            device.memory.discard();
            device.memory.set_limit(self.config.memory_per_device);
        }
        drop(self.libraries.remove_all(|_| true));
        drop(self.kernels.remove_all(|_| true));
        drop(self.linkers.remove_all(|_| true));
        self.host_memory.free_all(None);
        self.scheduler.set_schedule(&self.config.schedule);
        time::set(&self.config.time);
        time::forget_declared();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.devices.iter().for_each(|device| device.health.restore());
        // They were good when the machine was made, and so they are now.
        let applied = (self.inject_faults)(self);
        debug_assert_eq!(applied, Ok(()), "the machine is as it was");
    }
}

impl Device {
    fn new(
        id: DeviceId,
        memory: u64,
        devices: usize,
        contexts: &Registry<Context>,
    ) -> io::Result<Device> {
        Ok(Device {
            id,
            memory: DeviceMemory::new(id, memory, devices)?,
            health: Health::new(id.ordinal),
            primary_handle: contexts.reserve().ok_or(io::ErrorKind::OutOfMemory)?,
            primary_retains: Mutex::new(0),
            primary_flags: AtomicU32::new(0),
        })
    }

    /// Whether the way to another device is broken, on demand.
    pub(crate) fn is_cut_off_from(&self, other: &Device) -> bool {
        let fault = links::broken(self.id.ordinal as usize, other.id.ordinal as usize);
        fault == Some(PeerFault::Errors)
    }

    /// Retains the primary context, and makes it if it is not active.
    ///
    /// # Errors
    /// The device's sticky error.
    pub(crate) fn retain_primary(
        &'static self,
        platform: &'static Platform,
    ) -> Result<Arc<Context>, CUresult> {
        let mut retains = self.primary_retains.lock().unwrap_or_else(PoisonError::into_inner);
        let active = platform.contexts.get(self.primary_handle);
        let context = match active {
            Some(context) => context,
            None => {
                self.health.check()?;
                let flags = self.primary_flags();
                let context = Context::new(platform, self, self.primary_handle, true, flags);
                let context = Arc::new(context);
                platform.contexts.fill(self.primary_handle, Arc::clone(&context));
                context
            }
        };
        *retains += 1;
        Ok(context)
    }

    /// Releases the primary context, and destroys it if nobody else retains it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` if it is not retained.
    pub(crate) fn release_primary(&self, platform: &'static Platform) -> Result<(), CUresult> {
        let mut retains = self.primary_retains.lock().unwrap_or_else(PoisonError::into_inner);
        *retains = retains.checked_sub(1).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        let last = *retains == 0;
        let context = last.then(|| platform.contexts.vacate(self.primary_handle)).flatten();
        drop(retains);
        if let Some(context) = context {
            context.destroy(platform);
        }
        Ok(())
    }

    /// Whether the primary context is active.
    pub(crate) fn primary_is_active(&self, platform: &Platform) -> bool {
        platform.contexts.get(self.primary_handle).is_some()
    }

    pub(crate) fn primary_flags(&self) -> u32 {
        self.primary_flags.load(Ordering::Relaxed)
    }

    /// Sets the primary context's flags, now and for each time that it becomes active.
    pub(crate) fn set_primary_flags(&self, platform: &Platform, flags: u32) {
        self.primary_flags.store(flags, Ordering::Relaxed);
        if let Some(context) = platform.contexts.get(self.primary_handle) {
            context.settings.set_flags(flags);
        }
    }

    /// Destroys the primary context. Who retains it still does: the next one to do so makes it
    /// active again.
    pub(crate) fn reset_primary(&self, platform: &'static Platform) {
        let retains = self.primary_retains.lock().unwrap_or_else(PoisonError::into_inner);
        let context = platform.contexts.vacate(self.primary_handle);
        drop(retains);
        if let Some(context) = context {
            context.destroy(platform);
        }
    }

    fn deactivate(&self, platform: &'static Platform) {
        *self.primary_retains.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        if let Some(context) = platform.contexts.vacate(self.primary_handle) {
            context.destroy(platform);
        }
    }
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}
