//! Writes that change nothing: who makes them races with nobody in the launch.

use super::block::What;
use crate::exec::Access;
use crate::trap;

/// Whether a weak write would write what is there.
pub(super) fn changes_nothing(address: u64, what: What, value: Option<u64>) -> bool {
    let Some(value) = value.filter(|_| what.access == Access::Write && !what.strong) else {
        return false;
    };
    let bytes = value.to_le_bytes();
    let is_there = |(index, byte): (usize, &u8)| {
        let place = std::ptr::with_exposed_provenance::<u8>(address as usize + index);
        // SAFETY: the access has been found to lie in memory that the thread may touch, which the
        // attempt looks at once more; others may write it meanwhile, so it is volatile.
        *byte == unsafe { place.read_volatile() }
    };
    let all = || bytes.iter().take(what.bytes as usize).enumerate().all(is_there);
    // SAFETY: what is called has nothing to drop, and takes no lock.
    let found = unsafe { trap::attempt(all) };
    found == Ok(true)
}
