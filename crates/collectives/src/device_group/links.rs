//! How the devices of a group reach each other.

use tensor::{Device, Result, cuda};

use crate::plan::Links;

/// Opens the direct ways between devices, where the machine has sound ones.
///
/// # Errors
/// A device does not exist or cannot be used.
pub(super) fn connect(devices: &[Device]) -> Result<Links> {
    let mut links = Links::Direct;
    for &one in devices {
        for &other in devices.iter().filter(|&&other| other != one) {
            if !cuda::connect_peer(one, other)? {
                links = Links::Host;
            }
        }
    }
    Ok(links)
}
