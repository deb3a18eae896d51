//! Access of one device to another one's memory.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use cuda_sys::CUresult;

use super::peer_link;
use crate::device::check;
use crate::error::{Error, Result};
use crate::stream::captures;
use crate::types::{Device, WaitReason};
use crate::virtual_memory;
use crate::wait::WaitPermit;

impl Device {
    /// Whether the machine lets kernels of this device reach `peer`'s memory. A device is no peer
    /// of itself. It creates no context.
    ///
    /// # Errors
    /// The driver's.
    pub fn can_access_peer(self, peer: Device) -> Result<bool> {
        if self == peer {
            return Ok(false);
        }
        let state = self.state();
        let mut can: c_int = 0;
        // SAFETY: `can` is writable.
        let got =
            unsafe { (state.driver.cuDeviceCanAccessPeer)(&mut can, state.raw, peer.state().raw) };
        check::on_device(state, "cuDeviceCanAccessPeer", got)?;
        Ok(can != 0)
    }

    /// Lets kernels of this device reach `peer`'s memory; not the other way round. To enable what
    /// is enabled is fine. Copies between devices need no peer access.
    ///
    /// The first call for two devices blocks: a pattern is sent from each to the other. There are
    /// machines that say they connect them and deliver something else. Where that is so, no access
    /// is given, a `tracing` warning says it once, and copies between the two go through the host
    /// from then on.
    ///
    /// # Errors
    /// [`Error::PeerAccessUnsupported`] if the machine does not connect the two, or for a device
    /// and itself; [`Error::PeerLinkCorrupt`] if it connects them badly.
    #[track_caller]
    pub fn enable_peer_access(self, peer: Device) -> Result<()> {
        captures::permit("enable peer access")?;
        self.open_link(peer)?;
        peer_link::access(self, peer).store(true, Ordering::Release);
        Ok(())
    }

    /// Opens the direct way for copies from this device to `peer`, if the machine has a sound one, and
    /// says whether it has. Without it a driver may send them through the host. Nothing else changes:
    /// kernels may reach `peer`'s memory only after
    /// [`enable_peer_access`](Device::enable_peer_access), whose first call blocks as this one's does.
    ///
    /// # Errors
    /// The driver's.
    #[track_caller]
    pub fn connect_peer(self, peer: Device) -> Result<bool> {
        if self.is_linked_to(peer) {
            return Ok(true);
        }
        captures::permit("connect devices")?;
        match self.open_link(peer) {
            Ok(()) => Ok(true),
            Err(Error::PeerAccessUnsupported { .. } | Error::PeerLinkCorrupt { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens the link, once it is known to be sound.
    fn open_link(self, peer: Device) -> Result<()> {
        if !self.can_access_peer(peer)? {
            return Err(Error::PeerAccessUnsupported { device: self, peer });
        }
        if !peer_link::is_tested(self, peer) {
            // Before anything is done that a refusal would have to undo.
            let _leave = WaitPermit::ask(self, WaitReason::Point)?;
        }
        let (state, context) = (self.state(), peer.state().context()?);
        state.bind()?;
        // SAFETY: the device's context is current, and the peer's is never released.
        match unsafe { (state.driver.cuCtxEnablePeerAccess)(context.0, 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
            CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => {
                return Err(Error::PeerAccessUnsupported { device: self, peer });
            }
            result => check::on_device(state, "cuCtxEnablePeerAccess", result)?,
        }
        // Only now: without access the driver may take another way, and nothing would be tested.
        let sound = peer_link::is_sound(self, peer);
        peer_link::open(self, peer).store(true, Ordering::Release);
        // To memory that is mapped, access is given by the range.
        let opened = match sound {
            Ok(true) => virtual_memory::open_to(self, peer),
            Ok(false) => Err(Error::PeerLinkCorrupt { device: self, peer }),
            Err(error) => Err(error),
        };
        if opened.is_err() {
            self.close_link(peer)?;
        }
        opened
    }

    /// Ends the access that [`enable_peer_access`](Device::enable_peer_access) gave, once all work is
    /// done that this device was given so far and that may use it: it blocks until then. To end what
    /// was not given is fine, and waits for nothing.
    ///
    /// What is enqueued from here on must do without: a kernel that another thread is launching at this
    /// moment, or a graph that was captured before, stops the device if it does not.
    ///
    /// # Errors
    /// Those of [`Device::synchronize`], and the driver's; the access stays as it was then, unless the
    /// device is lost.
    #[track_caller]
    pub fn disable_peer_access(self, peer: Device) -> Result<()> {
        if !self.peer_access_enabled(peer) {
            return Ok(());
        }
        captures::permit("disable peer access")?;
        self.runs("disable_peer_access")?;
        let permit = WaitPermit::ask(self, WaitReason::Device)?;
        let enabled = peer_link::access(self, peer);
        // From here on nobody finds it enabled, and relies on it.
        enabled.store(false, Ordering::Release);
        if let Err(error) = self.finish(permit) {
            enabled.store(self.usable().is_ok(), Ordering::Release);
            return Err(error);
        }
        self.close_link(peer)
    }

    /// Closes the link, which no work uses.
    fn close_link(self, peer: Device) -> Result<()> {
        let (state, context) = (self.state(), peer.state().context()?);
        state.bind()?;
        peer_link::open(self, peer).store(false, Ordering::Release);
        let closed = virtual_memory::close_to(self, peer);
        // SAFETY: the device's context is current, and the peer's is never released.
        match unsafe { (state.driver.cuCtxDisablePeerAccess)(context.0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => closed,
            result => check::on_device(state, "cuCtxDisablePeerAccess", result).and(closed),
        }
    }

    /// Whether the driver lets this device access `peer`'s memory. It asks no driver.
    pub(crate) fn is_linked_to(self, peer: Device) -> bool {
        peer_link::open(self, peer).load(Ordering::Acquire)
    }

    /// Whether [`enable_peer_access`](Device::enable_peer_access) holds. It asks no driver.
    pub fn peer_access_enabled(self, peer: Device) -> bool {
        peer_link::access(self, peer).load(Ordering::Acquire)
    }
}
