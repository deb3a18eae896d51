//! What the runtime knows of one device: its context, its streams, whether it still works.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use cuda_sys::{CUcontext, CUdevice, CUresult, Driver};

use crate::check;
use crate::device::Device;
use crate::error::Result;
use crate::event_pool::EventPool;
use crate::handle::Handle;
use crate::lost::LostDevice;
use crate::once::TryOnce;
use crate::peer_link::PeerLink;
use crate::properties::Properties;
use crate::retired::Retired;
use crate::software::Kept;
use crate::stream::{KeptStream, Stream, StreamInner, StreamPool};
use crate::virtual_memory;

/// The lasting state of one device. There is one for each device, made when the driver is chosen,
/// and it lives as long as the process: contexts are never released.
pub(crate) struct DeviceState {
    pub(crate) driver: &'static Driver,
    pub(crate) device: Device,
    pub(crate) raw: CUdevice,
    pub(crate) properties: TryOnce<Properties>,
    pub(crate) default_stream: TryOnce<Stream>,
    pub(crate) events: EventPool,
    pub(crate) pool: StreamPool,
    pub(crate) retired: Retired,
    /// The ways to the other devices, by index.
    pub(crate) links: Box<[PeerLink]>,
    pub(crate) virtual_memory: TryOnce<Option<virtual_memory::Support>>,
    context: TryOnce<Handle<CUcontext>>,
    lost: OnceLock<Arc<LostDevice>>,
    streams: Mutex<Vec<Weak<StreamInner>>>,
    next_stream: AtomicU64,
}

impl DeviceState {
    pub(crate) fn new(driver: &'static Driver, device: Device, count: u32) -> Result<DeviceState> {
        let mut raw: CUdevice = 0;
        // SAFETY: `raw` is writable; the driver is initialised.
        let got = unsafe { (driver.cuDeviceGet)(&mut raw, device.0 as c_int) };
        check::without_device(driver, "cuDeviceGet", got)?;
        Ok(DeviceState {
            driver,
            device,
            raw,
            properties: TryOnce::new(),
            default_stream: TryOnce::new(),
            events: EventPool::new(),
            pool: StreamPool::new(),
            retired: Retired::new(),
            links: (0..count).map(|_| PeerLink::new()).collect(),
            virtual_memory: TryOnce::new(),
            context: TryOnce::new(),
            lost: OnceLock::new(),
            streams: Mutex::new(Vec::new()),
            // 0 is the default stream.
            next_stream: AtomicU64::new(1),
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

    /// That the device was not lost.
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

    pub(crate) fn next_stream_ordinal(&self) -> u64 {
        self.next_stream.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes a stream, so that errors and waits which concern the whole device find it.
    pub(crate) fn register(&self, stream: &Stream) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        // Only a full list is searched for dead streams: creating n streams then takes O(n) steps.
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        streams.push(stream.downgrade());
    }

    /// The streams of this device that still exist.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Stream::upgrade).collect()
    }

    /// Tells of what is kept for reuse.
    pub(crate) fn tell_kept(&self, tell: &mut dyn FnMut(Kept)) {
        if let Some(stream) = self.default_stream.get() {
            tell(Kept::object(stream.raw()));
        }
        let streams = self.streams().into_iter().map(KeptStream::from);
        let abandoned = streams.filter(KeptStream::is_abandoned);
        abandoned.for_each(|stream| tell(Kept::object(stream.raw())));
        self.pool.tell_kept(tell);
        self.retired.tell_kept(tell);
        self.links.iter().for_each(|link| link.tell_kept(tell));
    }

    /// Whether no work is on its way on any stream of the runtime.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams().iter().all(|stream| stream.has_reached(stream.now()).unwrap_or(true))
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
