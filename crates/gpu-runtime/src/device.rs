//! Devices: the GPUs that the driver shows, by index.

use std::fmt;

use crate::check;
use crate::current::{self, CurrentStream};
use crate::device_state::DeviceState;
use crate::error::{Error, Result};
use crate::module::Module;
use crate::observe::WaitReason;
use crate::platform;
use crate::point::StreamPoint;
use crate::properties::{MemoryInfo, Properties};
use crate::retired;
use crate::stream::Stream;
use crate::wait::host_wait;
use crate::waits::Leave;

/// A GPU, by the index that the driver gives it. The index was checked: a `Device` exists.
///
/// Each thread has a current device, 0 at first. It decides where something goes that names no
/// device; whatever is on a device already stays there and is worked on there.
///
/// The indices are the driver's: `CUDA_VISIBLE_DEVICES` hides and reorders devices before this
/// crate sees them. A device's context is created at the first call that needs it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub(crate) u32);

impl Device {
    /// How many devices there are; 0 with a driver that has none. It creates no context.
    ///
    /// # Errors
    /// Without a usable driver; see [`choose_driver`](crate::choose_driver).
    pub fn count() -> Result<usize> {
        match platform::get() {
            Ok(platform) => Ok(platform.devices.len()),
            Err(Error::NoDevice { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The device with an index.
    ///
    /// # Errors
    /// [`Error::InvalidDevice`] if there is none; else as [`Device::count`].
    pub fn get(index: usize) -> Result<Device> {
        let count = platform::get()?.devices.len();
        if index < count {
            Ok(Device(index as u32))
        } else {
            Err(Error::InvalidDevice { index, count })
        }
    }

    /// All devices, by index.
    ///
    /// # Errors
    /// As [`Device::count`].
    pub fn all() -> Result<Vec<Device>> {
        Ok((0..Device::count()? as u32).map(Device).collect())
    }

    /// The current device of this thread.
    ///
    /// # Errors
    /// Without a usable driver; see [`choose_driver`](crate::choose_driver).
    pub fn current() -> Result<Device> {
        platform::get()?;
        Ok(Device(current::device_index()))
    }

    /// The device's index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// What the device is. It creates no context.
    ///
    /// # Errors
    /// The driver's.
    pub fn properties(self) -> Result<Properties> {
        self.known_properties().cloned()
    }

    /// Whether the device's primary context exists in this process: made by this library, or by
    /// somebody else. To ask creates none.
    ///
    /// # Errors
    /// The driver's.
    pub fn has_context(self) -> Result<bool> {
        let state = self.state();
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both are writable, and `raw` came from this driver. No context is needed.
        let got = unsafe {
            (state.driver.cuDevicePrimaryCtxGetState)(state.raw, &mut flags, &mut active)
        };
        check::on_device(state, "cuDevicePrimaryCtxGetState", got)?;
        Ok(active != 0)
    }

    /// How much memory is free, as the driver counts it. What this process caches is not free.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_info(self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        self.state().call("cuMemGetInfo_v2", |driver| {
            // SAFETY: both are writable, and the device's context is current.
            unsafe { (driver.cuMemGetInfo_v2)(&mut free, &mut total) }
        })?;
        Ok(MemoryInfo { free, total })
    }

    /// Blocks until all work enqueued on the device so far is done, on all its streams. What was
    /// dropped while the device used it is freed then.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if some of it failed; [`Error::Capture`] while one of its streams is
    /// being captured, in whichever thread that is.
    #[track_caller]
    pub fn synchronize(self) -> Result<()> {
        self.runs("synchronize")?;
        self.finish(Leave::ask(self, WaitReason::Device)?)
    }

    /// That none of the device's streams is being captured.
    pub(crate) fn runs(self, operation: &'static str) -> Result<()> {
        self.state().streams().iter().try_for_each(|stream| stream.runs(operation))
    }

    /// Blocks until all work enqueued so far is done, with leave that was asked for before.
    pub(crate) fn finish(self, leave: Leave) -> Result<()> {
        let state = self.state();
        let points: Vec<_> = state.streams().iter().map(Stream::point).collect();
        let awaits: Vec<_> = points.iter().map(StreamPoint::work).collect();
        let waited = host_wait(state, leave, &awaits, "cuCtxSynchronize", |driver| {
            // SAFETY: the device's context is current.
            unsafe { (driver.cuCtxSynchronize)() }
        });
        if waited.is_ok() {
            for point in points {
                point.stream().reached(point.sequence());
            }
        }
        // A lost device does not use anything any more either.
        retired::collect_values();
        state.retired.collect();
        waited
    }

    /// The stream that work goes to unless another one is current, the same in every thread.
    ///
    /// # Errors
    /// The driver's, if it cannot create the stream at its first use.
    pub fn default_stream(self) -> Result<Stream> {
        self.default_stream_of_process().cloned()
    }

    /// The current stream of this device in this thread; see [`Stream::enter`].
    ///
    /// # Errors
    /// As [`Device::default_stream`].
    pub fn current_stream(self) -> Result<Stream> {
        Ok(self.current_stream_ref()?.clone())
    }

    /// The same without a handle of its own, for who only enqueues something: two to three
    /// nanoseconds, and no atomic operation.
    ///
    /// # Errors
    /// As [`Device::default_stream`].
    #[inline]
    pub fn current_stream_ref(self) -> Result<CurrentStream> {
        CurrentStream::of(self)
    }

    /// Loads a module onto the device: the text of PTX, or a fat binary with nothing else in it. See
    /// [`Module`].
    ///
    /// # Errors
    /// [`Error::ModuleLoad`] with what the driver's compiler says, if the driver refuses it, and for
    /// what is neither of the two: machine code takes [`load_binary`](Device::load_binary).
    pub fn load(self, image: impl AsRef<[u8]>) -> Result<Module> {
        Module::load(self, image.as_ref())
    }

    /// Loads a module onto the device that may be, or contain, machine code: an ELF file for GPUs
    /// (cubin), or a fat binary.
    ///
    /// # Errors
    /// [`Error::ModuleLoad`] if the driver refuses it, or it is cut off.
    ///
    /// # Safety
    /// Machine code in the image is as NVIDIA's tools have made it. The driver follows what it says
    /// of itself, and nobody can see from outside where that leads.
    pub unsafe fn load_binary(self, image: impl AsRef<[u8]>) -> Result<Module> {
        // SAFETY: the caller promises that of the machine code, and all else is looked through.
        unsafe { Module::load_binary(self, image.as_ref()) }
    }

    #[inline]
    pub(crate) fn state(self) -> &'static DeviceState {
        &platform::in_use().devices[self.0 as usize]
    }

    #[inline]
    pub(crate) fn default_stream_of_process(self) -> Result<&'static Stream> {
        self.state().default_stream.get_or_try_init(|| Stream::create_default(self))
    }

    pub(crate) fn known_properties(self) -> Result<&'static Properties> {
        let state = self.state();
        state.properties.get_or_try_init(|| Properties::of(state))
    }

    pub(crate) fn usable(self) -> Result<()> {
        self.state().lost().map_or(Ok(()), |lost| Err(lost.error()))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.0)
    }
}
