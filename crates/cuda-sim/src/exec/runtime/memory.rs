//! What happens where an access is not known to be allowed.

use crate::exec::runner::Runner;
use crate::exec::state::{Context, Thread};
use crate::exec::{Access, FaultKind};

/// Size and kind of an access as one number, as native code hands it on.
pub(crate) fn describe_access(bytes: u32, access: Access) -> u32 {
    bytes << 2 | access as u32
}

fn described(what: u32) -> (u32, Access) {
    let access = match what & 3 {
        0 => Access::Read,
        1 => Access::Write,
        _ => Access::Atomic,
    };
    (what >> 2, access)
}

/// Whether a generic access is refused; if so, the thread is stopped.
pub(super) unsafe extern "C" fn check(
    context: *const Context,
    thread: *const Thread,
    address: u64,
    what: u32,
    line: u32,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let (bytes, access) = described(what);
    let kind = if !address.is_multiple_of(u64::from(bytes)) {
        FaultKind::MisalignedAddress { address, bytes, access }
    } else if runner.permits(thread, address, u64::from(bytes), access) {
        return 0;
    } else {
        FaultKind::IllegalAddress { address, bytes, access }
    };
    runner.stop(thread, line, kind);
    1
}

/// Stops a thread that left its shared, local or parameter memory, or is misaligned in it.
pub(super) unsafe extern "C" fn deny(
    context: *const Context,
    thread: *const Thread,
    address: u64,
    what: u32,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let (bytes, access) = described(what);
    let kind = match address.is_multiple_of(u64::from(bytes)) {
        true => FaultKind::IllegalAddress { address, bytes, access },
        false => FaultKind::MisalignedAddress { address, bytes, access },
    };
    runner.stop(thread, line, kind);
}
