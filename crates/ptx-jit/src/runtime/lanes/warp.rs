//! Exchanges between lanes whose sources differ from lane to lane.

use super::area::{Area, LANES, Plain};
use super::widest;

/// The exchanges between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum WarpCall {
    /// Each lane gets what the lane has whose number is its second operand; the parameter is the
    /// width.
    Shuffle,
    /// Each lane gets the mask of the lanes with its value; the parameter is the width.
    MatchAny,
}

pub(crate) unsafe extern "C" fn warp(area: *mut Area, call: WarpCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    widest(
        #[inline(always)]
        || match (call, parameter) {
            (WarpCall::Shuffle, 16) => shuffle::<u16>(area),
            (WarpCall::Shuffle, 32) => shuffle::<u32>(area),
            (WarpCall::Shuffle, _) => shuffle::<u64>(area),
            (WarpCall::MatchAny, 32) => match_any::<u32>(area),
            (WarpCall::MatchAny, _) => match_any::<u64>(area),
        },
    );
}

#[inline(always)]
fn shuffle<T: Plain>(area: &mut Area) {
    let values: [T; LANES] = *area.one::<T, T>().0;
    area.zip(|_: T, source: u32| values[source as usize % LANES]);
}

#[inline(always)]
fn match_any<T: Plain + PartialEq>(area: &mut Area) {
    let values: [T; LANES] = *area.one::<T, T>().0;
    area.map(|value: T| {
        (0..LANES).fold(0u32, |mask, lane| mask | u32::from(values[lane] == value) << lane)
    });
}
