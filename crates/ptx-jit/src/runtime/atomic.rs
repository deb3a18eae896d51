//! Atomic operations that the host has no instruction for: loops around compare-and-exchange.
//!
//! Native code has checked that the thread may access the memory, and that the address is aligned:
//! each function's first argument is valid for reads and writes, also by other threads at the same
//! time, and a multiple of its size.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use half::{bf16, f16};

pub(crate) unsafe extern "C" fn add_f16(place: *mut u16, value: u32) -> u32 {
    // SAFETY: native code checked the address before the call (module documentation).
    unsafe { update_half(place, |old| sum_f16(old, value as u16)) }
}

pub(crate) unsafe extern "C" fn add_bf16(place: *mut u16, value: u32) -> u32 {
    // SAFETY: native code checked the address before the call (module documentation).
    unsafe { update_half(place, |old| sum_bf16(old, value as u16)) }
}

pub(crate) unsafe extern "C" fn add_f16x2(place: *mut u32, value: u32) -> u32 {
    // SAFETY: native code checked the address before the call (module documentation).
    unsafe { update_pair(place, value, sum_f16) }
}

pub(crate) unsafe extern "C" fn add_bf16x2(place: *mut u32, value: u32) -> u32 {
    // SAFETY: native code checked the address before the call (module documentation).
    unsafe { update_pair(place, value, sum_bf16) }
}

/// `atom.inc`: counts up, from `limit` to 0.
pub(crate) unsafe extern "C" fn increment(place: *mut u32, limit: u32) -> u32 {
    // SAFETY: the place is valid and aligned (module documentation).
    let place = unsafe { AtomicU32::from_ptr(place) };
    update(place, |old| if old >= limit { 0 } else { old + 1 })
}

/// `atom.dec`: counts down, from 0 to `limit`.
pub(crate) unsafe extern "C" fn decrement(place: *mut u32, limit: u32) -> u32 {
    // SAFETY: the place is valid and aligned (module documentation).
    let place = unsafe { AtomicU32::from_ptr(place) };
    update(place, |old| if old == 0 || old > limit { limit } else { old - 1 })
}

fn update(place: &AtomicU32, new: impl Fn(u32) -> u32) -> u32 {
    settled(place.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(new(old))))
}

/// # Safety
///
/// The place is valid and aligned (module documentation).
unsafe fn update_half(place: *mut u16, new: impl Fn(u16) -> u16) -> u32 {
    // SAFETY: the caller knows that the place is valid and aligned, which is all that `from_ptr` asks
    // for: all accesses of it in kernels are atomic or volatile.
    let place = unsafe { AtomicU16::from_ptr(place) };
    let old = place.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(new(old)));
    u32::from(settled(old))
}

/// # Safety
///
/// The place is valid and aligned (module documentation).
unsafe fn update_pair(place: *mut u32, value: u32, sum: impl Fn(u16, u16) -> u16) -> u32 {
    // SAFETY: the caller knows that the place is valid and aligned, which is all that `from_ptr` asks
    // for: all accesses of it in kernels are atomic or volatile.
    let place = unsafe { AtomicU32::from_ptr(place) };
    update(place, |old| {
        let low = sum(old as u16, value as u16);
        let high = sum((old >> 16) as u16, (value >> 16) as u16);
        u32::from(high) << 16 | u32::from(low)
    })
}

fn sum_f16(a: u16, b: u16) -> u16 {
    f16::from_f32(f16::from_bits(a).to_f32() + f16::from_bits(b).to_f32()).to_bits()
}

fn sum_bf16(a: u16, b: u16) -> u16 {
    bf16::from_f32(bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32()).to_bits()
}

/// The old value: an update that always has a new value never fails.
fn settled<T>(result: Result<T, T>) -> T {
    match result {
        Ok(old) | Err(old) => old,
    }
}
