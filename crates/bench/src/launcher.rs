//! Launches of a kernel that does nothing, by the runtime and by the driver's bare calls.

use std::ffi::CStr;
use std::ptr::null_mut;

use cuda_sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUresult, CUstream, Driver};
use gpu_runtime::{Device, DriverKind, Function, LaunchConfig, Stream, driver_kind};

use crate::error::{Error, Result};

/// With the NUL that a driver looks for.
pub(crate) const EMPTY: &str = concat!(include_str!("empty.ptx"), "\0");
/// One thread.
pub(crate) const ONE: LaunchConfig = LaunchConfig::new([1, 1, 1], [1, 1, 1]);

/// Launches the kernel that does nothing.
pub(crate) trait Launcher {
    /// Enqueues one launch.
    fn launch(&self) -> Result<()>;

    /// Waits until all launches were executed.
    fn finish(&self) -> Result<()>;
}

/// Launches as users of `gpu-runtime` do.
pub(crate) struct Runtime {
    function: Function,
    stream: Stream,
}

impl Runtime {
    pub(crate) fn new(device: Device) -> Result<Runtime> {
        let function = device.load(EMPTY)?.function("empty")?;
        Ok(Runtime { function, stream: Stream::new(device)? })
    }
}

impl Launcher for Runtime {
    fn launch(&self) -> Result<()> {
        // SAFETY: the kernel takes no arguments and touches no memory.
        unsafe { self.function.launch(&self.stream, ONE, ())? };
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }
}

/// Launches by the driver's functions and nothing else: what the runtime is compared with.
pub(crate) struct DriverLauncher {
    driver: Driver,
    device: CUdevice,
    context: CUcontext,
    module: CUmodule,
    function: CUfunction,
    stream: CUstream,
}

impl DriverLauncher {
    /// On the driver that the runtime has chosen.
    pub(crate) fn new(device: Device) -> Result<DriverLauncher> {
        let driver = match driver_kind()? {
            DriverKind::Software => *cuda_sim::driver(),
            DriverKind::Nvidia => Driver::load()?,
        };
        let mut bare = DriverLauncher {
            driver,
            device: 0,
            context: null_mut(),
            module: null_mut(),
            function: null_mut(),
            stream: null_mut(),
        };
        // SAFETY: what is written to is writable, the driver is initialised, the context is current
        // before it is needed, and the image ends with a NUL.
        unsafe {
            check("cuDeviceGet", (driver.cuDeviceGet)(&mut bare.device, device.index() as i32))?;
            let retained = (driver.cuDevicePrimaryCtxRetain)(&mut bare.context, bare.device);
            check("cuDevicePrimaryCtxRetain", retained)?;
            check("cuCtxSetCurrent", (driver.cuCtxSetCurrent)(bare.context))?;
            let loaded = (driver.cuModuleLoadData)(&mut bare.module, EMPTY.as_ptr().cast());
            check("cuModuleLoadData", loaded)?;
            check("cuStreamCreate", (driver.cuStreamCreate)(&mut bare.stream, 0))?;
        }
        bare.function = bare.function(c"empty")?;
        Ok(bare)
    }

    /// The driver's functions, with the device's context current in the thread that made this.
    pub(crate) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The kernel of that name.
    pub(crate) fn function(&self, name: &CStr) -> Result<CUfunction> {
        let mut function = null_mut();
        // SAFETY: `function` is writable, and the module lives as long as `self`.
        let found =
            unsafe { (self.driver.cuModuleGetFunction)(&mut function, self.module, name.as_ptr()) };
        check("cuModuleGetFunction", found)?;
        Ok(function)
    }
}

impl Launcher for DriverLauncher {
    fn launch(&self) -> Result<()> {
        let ([gx, gy, gz], [bx, by, bz]) = (ONE.grid, ONE.block);
        // SAFETY: function and stream live as long as `self`; the kernel takes no arguments.
        let launched = unsafe {
            (self.driver.cuLaunchKernel)(
                self.function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                0,
                self.stream,
                null_mut(),
                null_mut(),
            )
        };
        check("cuLaunchKernel", launched)
    }

    fn finish(&self) -> Result<()> {
        // SAFETY: the stream lives as long as `self`.
        check("cuStreamSynchronize", unsafe { (self.driver.cuStreamSynchronize)(self.stream) })
    }
}

impl Drop for DriverLauncher {
    fn drop(&mut self) {
        // Nobody can be told of a failure.
        // SAFETY: each handle came from this driver, is destroyed here only, and not used again.
        unsafe {
            if !self.stream.is_null() {
                let _ = (self.driver.cuStreamDestroy_v2)(self.stream);
            }
            if !self.module.is_null() {
                let _ = (self.driver.cuModuleUnload)(self.module);
            }
            if !self.context.is_null() {
                let _ = (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device);
            }
        }
    }
}

pub(crate) fn check(call: &'static str, result: CUresult) -> Result<()> {
    result.ok().map_err(|result| Error::Driver { call, result })
}
