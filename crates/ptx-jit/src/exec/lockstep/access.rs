//! Accesses of a warp of which it is not known that all lanes may make them: one lane after the
//! other, by way of an area in the block's context.

use std::ops::Range;

use crate::abi::{AccessInfo, AccessKind, KernelContext, LANES, ThreadRecord, WarpRecord};
use crate::codegen::{LaneAccess, SpaceWindow};
use crate::exec::FaultKind;
use crate::exec::runner::Runner;
use crate::exec::warp::lanes;
use crate::runtime::RowLoad;

/// Reads what the lanes in `members` load, the first lane of all being at `place`; 1 if one of them
/// may not, and the warp is stopped.
pub(in crate::exec) unsafe extern "C" fn gather(
    context: *mut KernelContext,
    record: *mut WarpRecord,
    place: u64,
    access: u32,
    members: u32,
) -> u32 {
    // SAFETY: native code calls with its own context and its warp's record, and waits for the answer.
    unsafe { each(context, record, (place, access, members), AccessKind::Read) }
}

/// Writes what the lanes in `members` store, in the same way.
pub(in crate::exec) unsafe extern "C" fn scatter(
    context: *mut KernelContext,
    record: *mut WarpRecord,
    place: u64,
    access: u32,
    members: u32,
) -> u32 {
    // SAFETY: native code calls with its own context and its warp's record, and waits for the answer.
    unsafe { each(context, record, (place, access, members), AccessKind::Write) }
}

/// Stops the warp at the first access of a group that a lane may not make. `base` is the first lane's
/// value of the register that all are at distances from.
pub(in crate::exec) unsafe extern "C" fn deny_group(
    context: *const KernelContext,
    record: *mut WarpRecord,
    base: u64,
    group: u32,
) {
    // SAFETY: native code calls with its own context and its warp's record, and waits for the answer.
    let (runner, warp) = unsafe { (Runner::of(context), &*record) };
    let Some(group) = runner.launch.kernel.access_group(group) else {
        return;
    };
    for access in &group.accesses {
        let first = base.wrapping_add(access.offset as u64);
        let first = if group.is_wide { first } else { first & u64::from(u32::MAX) };
        let address = |lane| first.wrapping_add(group.strides.at(lane, group.shape) as u64);
        let what = AccessInfo::weak(access.kind, group.bytes);
        let addresses = (0..LANES).map(|lane| address(lane as i64));
        if stop_outside(runner, warp, addresses, what, access.line) {
            return;
        }
    }
}

/// Stops the warp at the first row of a matrix that a lane may not load. `addresses` are those of the
/// first `count` lanes' rows in shared memory, 32 bits each.
pub(in crate::exec) unsafe extern "C" fn deny_rows(
    context: *const KernelContext,
    record: *mut WarpRecord,
    addresses: u64,
    count: u32,
    line: u32,
) {
    // SAFETY: native code calls with its own context and its warp's record, and waits for the answer.
    let (runner, warp) = unsafe { (Runner::of(context), &*record) };
    // SAFETY: the addresses lie in the frame of the native code, which waits.
    let addresses = unsafe { std::slice::from_raw_parts(addresses as *const u32, count as usize) };
    let addresses = addresses.iter().map(|&address| u64::from(address));
    let what = AccessInfo::weak(AccessKind::Read, RowLoad::ROW_BYTES);
    stop_outside(runner, warp, addresses, what, line);
}

/// Stops the warp at the first lane whose access of shared memory is outside of it, or not aligned;
/// whether there is one. The addresses are those of the lanes, one after the other.
fn stop_outside(
    runner: &Runner<'_>,
    warp: &WarpRecord,
    addresses: impl Iterator<Item = u64>,
    what: AccessInfo,
    line: u32,
) -> bool {
    for (lane, address) in addresses.enumerate() {
        if !is_inside(&runner.shared, address, what.bytes) {
            // SAFETY: a warp's record points to its 32 threads.
            let thread = unsafe { &*warp.threads.add(lane) };
            runner.stop(thread, line, runner.denied(thread, address, what, line));
            return true;
        }
    }
    false
}

/// Whether an access is inside of a window, whose addresses begin at 0, and aligned.
fn is_inside(window: &Range<u64>, address: u64, bytes: u32) -> bool {
    let log = bytes.trailing_zeros();
    address.rotate_right(log) < (window.end - window.start) >> log
}

/// Copies between each lane's place in memory and its place in the area.
///
/// # Safety
///
/// The context and the record are those of the running block, and native code of the warp waits.
unsafe fn each(
    context: *mut KernelContext,
    record: *mut WarpRecord,
    (place, access, members): (u64, u32, u32),
    kind: AccessKind,
) -> u32 {
    // SAFETY: the context is the running block's, so it is live; only an address is taken.
    let area = unsafe { (&raw mut (*context).lanes).cast::<u8>() };
    // SAFETY: the context is one whose block runs, and nobody writes the warp's record while native
    // code waits.
    let (runner, warp) = unsafe { (Runner::of(context), &*record) };
    let Some(access) = runner.launch.kernel.lane_access(access) else {
        return 1;
    };
    let log = access.bytes.trailing_zeros();
    // SAFETY: the context is live. It is read without a reference, because the area that is written
    // below is in the same context.
    let known = unsafe { ((*context).window_start, (*context).window_slots[log as usize]) };
    let what = AccessInfo::weak(kind, access.bytes);
    for lane in lanes(members) {
        // SAFETY: a warp's record points to its 32 threads.
        let thread = unsafe { &*warp.threads.add(lane) };
        let address = place.wrapping_add(access.strides.at(lane as i64, access.shape) as u64);
        let memory = match locate(runner, known, thread, &access, address, what) {
            Ok(memory) => memory as *mut u8,
            Err(kind) => {
                runner.stop(thread, access.line, kind);
                return 1;
            }
        };
        let kept = area.wrapping_add(place_in_area(&access, lane));
        let (to, from) = if kind == AccessKind::Read { (kept, memory) } else { (memory, kept) };
        // SAFETY: the lane may access the memory, and the area is as large as what a warp accesses.
        unsafe { copy(to, from, access.bytes) };
    }
    0
}

/// The host address of a lane's access. `known` is the device's own address range: its start, and
/// its places for accesses of this size.
fn locate(
    runner: &Runner<'_>,
    (start, slots): (u64, u64),
    thread: &ThreadRecord,
    access: &LaneAccess,
    address: u64,
    what: AccessInfo,
) -> Result<u64, FaultKind> {
    let local = thread.local as u64;
    let window: Range<u64> = match access.window {
        Some(SpaceWindow::Shared) => runner.shared.clone(),
        Some(SpaceWindow::Parameters) => runner.parameters.clone(),
        Some(SpaceWindow::Local) => local..local + runner.local_bytes() as u64,
        None => {
            if address.wrapping_sub(start).rotate_right(what.bytes.trailing_zeros()) >= slots {
                runner.check_access(thread, address, what, None, access.line)?;
            }
            return Ok(address);
        }
    };
    match is_inside(&window, address, what.bytes) {
        true => Ok(window.start + address),
        false => Err(runner.denied(thread, address, what, access.line)),
    }
}

/// The offset of a lane's value in the area.
fn place_in_area(access: &LaneAccess, lane: usize) -> usize {
    let index = match access.shares_rows {
        true => lane / access.shape.width() as usize,
        false => lane,
    };
    index * access.bytes as usize
}

/// Copies a number of bytes that is a power of two, in pieces of at most 8. Other threads of the
/// host may write the same memory.
///
/// # Safety
///
/// Both places may be accessed, and are multiples of the number, or of 8.
unsafe fn copy(to: *mut u8, from: *const u8, bytes: u32) {
    // SAFETY: the caller knows that both places may be accessed for `bytes` bytes, and that they are
    // aligned for the type of each access, which is as large as that or 8 bytes.
    unsafe {
        match bytes {
            1 => to.write_volatile(from.read_volatile()),
            2 => to.cast::<u16>().write_volatile(from.cast::<u16>().read_volatile()),
            4 => to.cast::<u32>().write_volatile(from.cast::<u32>().read_volatile()),
            _ => {
                let (to, from) = (to.cast::<u64>(), from.cast::<u64>());
                for index in 0..bytes as usize / 8 {
                    to.add(index).write_volatile(from.add(index).read_volatile());
                }
            }
        }
    }
}
