//! The lasting state of a device: its context, and whether it still works.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use cuda_sys::{CUcontext, CUdevice, CUresult, Driver};

use super::{Handle, TryOnce, check};
use crate::error::{LostDevice, Result};
use crate::types::{Device, DriverKind, LaunchRecord, Properties};

/// Finds the work on a device that is not known to be done, stream by stream, oldest first: what may
/// have caused the loss of the device. Streams are above this room, which hand it in.
pub(crate) type UnfinishedWork = fn(Device) -> Vec<LaunchRecord>;

/// The lasting state of one device. There is one for each device, made when the driver is chosen,
/// and it lives as long as the process: contexts are never released.
pub(crate) struct DeviceState {
    pub(crate) driver: &'static Driver,
    pub(crate) kind: DriverKind,
    pub(crate) device: Device,
    pub(crate) raw: CUdevice,
    pub(crate) properties: TryOnce<Properties>,
    pub(super) unfinished_work: UnfinishedWork,
    context: TryOnce<Handle<CUcontext>>,
    lost: OnceLock<Arc<LostDevice>>,
}

impl DeviceState {
    pub(super) fn new(
        driver: &'static Driver,
        kind: DriverKind,
        device: Device,
        unfinished_work: UnfinishedWork,
    ) -> Result<DeviceState> {
        let mut raw: CUdevice = 0;
        // SAFETY: `raw` is writable; the driver is initialised.
        let got = unsafe { (driver.cuDeviceGet)(&mut raw, device.0 as c_int) };
        check::without_device(driver, "cuDeviceGet", got)?;
        Ok(DeviceState {
            driver,
            kind,
            device,
            raw,
            properties: TryOnce::new(),
            unfinished_work,
            context: TryOnce::new(),
            lost: OnceLock::new(),
        })
    }

    /// Makes the device's primary context current in the calling thread.
    ///
    /// The driver is asked what is current. A value kept here would be wrong after any foreign code
    /// that changed the context, and work would go to the wrong device.
    #[inline]
    pub(crate) fn bind(&self) -> Result<()> {
        match self.context.get() {
            Some(context) if self.lost.get().is_none() && self.is_current(*context) => Ok(()),
            _ => self.make_current(),
        }
    }

    /// Fails if the device is lost.
    #[inline]
    pub(crate) fn works(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(lost) => Err(lost.error()),
        }
    }

    fn make_current(&self) -> Result<()> {
        self.works()?;
        let context = self.context()?;
        // SAFETY: the primary context was retained and is never released.
        let set = unsafe { (self.driver.cuCtxSetCurrent)(context.0) };
        check::on_device(self, "cuCtxSetCurrent", set)
    }

    /// Calls the driver with the device's context current, outside any stream.
    pub(crate) fn call(
        &self,
        call: &'static str,
        run: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<()> {
        self.bind()?;
        check::on_device(self, call, run(self.driver))
    }

    /// As [`bind`](DeviceState::bind), for `Drop`: also for a lost device, and failing silently.
    pub(crate) fn bind_to_destroy(&self) {
        if let Some(context) = self.context.get() {
            // SAFETY: the primary context was retained and is never released. Where the driver is
            // gone already, it says so, and there is nothing left to destroy.
            let _ = unsafe { (self.driver.cuCtxSetCurrent)(context.0) };
        }
    }

    /// The primary context, created at first use.
    #[inline]
    pub(crate) fn context(&self) -> Result<Handle<CUcontext>> {
        self.context.get_or_try_init(|| self.retain_context()).copied()
    }

    /// The error that made the device unusable, if one did.
    pub(crate) fn lost(&self) -> Option<&Arc<LostDevice>> {
        self.lost.get()
    }

    /// Declares the device unusable; the first declaration stays.
    pub(crate) fn lose(&self, lost: LostDevice) -> &Arc<LostDevice> {
        self.lost.get_or_init(|| Arc::new(lost))
    }

    #[inline]
    fn is_current(&self, context: Handle<CUcontext>) -> bool {
        let mut current: CUcontext = null_mut();
        // SAFETY: `current` is writable. Where the call fails, to set the context says why.
        let got = unsafe { (self.driver.cuCtxGetCurrent)(&mut current) };
        got == CUresult::CUDA_SUCCESS && current == context.0
    }

    fn retain_context(&self) -> Result<Handle<CUcontext>> {
        let mut context: CUcontext = null_mut();
        // SAFETY: `context` is writable, and `raw` came from this driver.
        let retained = unsafe { (self.driver.cuDevicePrimaryCtxRetain)(&mut context, self.raw) };
        check::on_device(self, "cuDevicePrimaryCtxRetain", retained)?;
        tracing::debug!(device = %self.device, "primary context retained");
        Ok(Handle(context))
    }
}
