//! Copies over ways that are slow or broken on demand.

use std::thread;
use std::time::{Duration, Instant};

use cuda_sys::CUresult;

use crate::config::PeerFault;
use crate::links::{self, Residence};
use crate::queue::{Failure, Health};
use crate::time;

/// Does to a piece of a copy what its way does.
///
/// # Errors
/// If the way is broken so that copies fail.
///
/// # Safety
/// `length` bytes can be written at `written`.
pub(in crate::device) unsafe fn disturb(
    to: Residence,
    from: Residence,
    written: *mut u8,
    length: u64,
    health: &Health,
) -> Result<(), Failure> {
    let fault = match (to, from) {
        (Residence::Device(to), Residence::Device(from)) => links::broken(to, from),
        _ => None,
    };
    match fault {
        Some(PeerFault::Errors) => {
            let code = CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE;
            let text = format!("a copy between devices ({to:?}, {from:?}) failed on demand");
            return Err(Failure::on_demand(code, text));
        }
        // SAFETY: `length` bytes can be written at `written`, as this function demands itself.
        Some(PeerFault::Corrupt) => unsafe { corrupt(written, length) },
        None => {}
    }
    wait(time::delay(to, from, length), health);
    Ok(())
}

/// Inverts a byte here and there, the first one included.
///
/// # Safety
/// `length` bytes can be written there.
unsafe fn corrupt(written: *mut u8, length: u64) {
    /// About as far apart as packets on a link are long.
    const APART: usize = 256;
    for offset in (0..length as usize).step_by(APART) {
        // SAFETY: the offset is less than `length`, so the byte can be written. Programs may race
        // on it, as on a GPU: whatever is read is inverted.
        unsafe {
            let byte = written.add(offset);
            byte.write_volatile(!byte.read_volatile());
        }
    }
}

/// Waits, unless the device is lost or reset.
fn wait(delay: Duration, health: &Health) {
    const STEP: Duration = Duration::from_millis(5);
    let begun = Instant::now();
    while let Some(left) = delay.checked_sub(begun.elapsed())
        && !left.is_zero()
        && !health.is_stopped()
    {
        thread::sleep(left.min(STEP));
    }
}
