//! Observers are told of memory that the driver gave.

use std::panic::Location;

use crate::types::{Allocation, Device, DevicePtr};

/// Tells observers of memory that the driver gave.
#[inline]
#[track_caller]
pub(super) fn tell_of(start: DevicePtr, bytes: usize, device: Option<Device>) {
    let place = Location::caller();
    Allocation { start, bytes, device, stream: None, is_part: false, place }.tell();
}
