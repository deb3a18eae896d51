//! Operations on bits whose amounts and places differ from lane to lane.

use super::super::bits::{find_counted, permute};
use super::area::{Area, Plain};
use super::widest;

/// The operations on bits. The parameter is the width, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum BitsCall {
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    PopulationCount,
    LeadingZeros,
    Reverse,
    /// `bfind`: the highest bit's distance from the lowest.
    FindLeading,
    FindLeadingSigned,
    /// `bfind.shiftamt`: the highest bit's distance from the top.
    ShiftToLeading,
    ShiftToLeadingSigned,
    Extract,
    ExtractSigned,
    Insert,
    /// `bmsk`: so many ones from a bit on.
    Mask,
    /// Shifts of a pair by at most 32.
    FunnelLeft,
    FunnelRight,
    /// `prmt`; the parameter is the mode.
    Permute,
    /// `fns`.
    FindCounted,
}

pub(crate) unsafe extern "C" fn bits(area: *mut Area, call: BitsCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    widest(
        #[inline(always)]
        || apply(area, call, parameter),
    );
}

#[inline(always)]
fn apply(area: &mut Area, call: BitsCall, parameter: u32) {
    match (call, parameter) {
        (BitsCall::Permute, mode) => area.zip3(|a, b, c| permute(a, b, c, mode)),
        (BitsCall::FindCounted, _) => area.zip3(|a, b, c| find_counted(a, b, c)),
        (BitsCall::Mask, _) => {
            area.zip(|position: u32, length: u32| u32::low_ones(length).left(position));
        }
        (BitsCall::FunnelLeft, _) => {
            area.zip3(|low, high, amount: u32| (pair(low, high) << amount >> 32) as u32);
        }
        (BitsCall::FunnelRight, _) => {
            area.zip3(|low, high, amount: u32| (pair(low, high) >> amount) as u32);
        }
        (call, 16) => of_width::<u16>(area, call),
        (call, 32) => of_width::<u32>(area, call),
        (call, _) => of_width::<u64>(area, call),
    }
}

#[inline(always)]
fn of_width<T: Word>(area: &mut Area, call: BitsCall) {
    match call {
        BitsCall::ShiftLeft => area.zip(T::left),
        BitsCall::ShiftRight => area.zip(T::right),
        BitsCall::ShiftRightSigned => area.zip(T::right_signed),
        BitsCall::PopulationCount => area.map(T::ones),
        BitsCall::LeadingZeros => area.map(T::zeros),
        BitsCall::Reverse => area.map(T::reversed),
        BitsCall::FindLeading => area.map(|a: T| leading(a, false)),
        BitsCall::FindLeadingSigned => area.map(|a: T| leading(a.magnitude(), false)),
        BitsCall::ShiftToLeading => area.map(|a: T| leading(a, true)),
        BitsCall::ShiftToLeadingSigned => area.map(|a: T| leading(a.magnitude(), true)),
        BitsCall::Extract => area.zip3(|a: T, position: u32, length: u32| {
            a.right(position & 255).and(T::low_ones(length & 255))
        }),
        BitsCall::ExtractSigned => area.zip3(extract_signed::<T>),
        BitsCall::Insert => area.zip4(|a: T, b: T, position: u32, length: u32| {
            let mask = T::low_ones(length & 255).left(position & 255);
            a.left(position & 255).and(mask).or(b.and(mask.not()))
        }),
        BitsCall::Mask
        | BitsCall::FunnelLeft
        | BitsCall::FunnelRight
        | BitsCall::Permute
        | BitsCall::FindCounted => {}
    }
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The index of the highest bit that is set, or its distance from the top; all ones if none is.
#[inline(always)]
fn leading<T: Word>(significant: T, from_top: bool) -> u32 {
    let zeros = significant.zeros();
    if zeros == T::BITS {
        return u32::MAX;
    }
    if from_top { zeros } else { T::BITS - 1 - zeros }
}

/// A field, extended by its highest bit; beyond the register by the register's.
#[inline(always)]
fn extract_signed<T: Word>(a: T, position: u32, length: u32) -> T {
    let (position, length) = (position & 255, length & 255);
    if length == 0 {
        return a.and(a.not());
    }
    let top = (position + length - 1).min(T::BITS - 1);
    // The highest bit of the field is moved to the top, and back with its copies.
    let raised = a.left(T::BITS - 1 - top);
    raised.right_signed(T::BITS - 1 - top + position)
}

/// An unsigned integer with shifts as PTX has them: beyond the width nothing is left.
trait Word: Plain {
    const BITS: u32;
    fn left(self, amount: u32) -> Self;
    fn right(self, amount: u32) -> Self;
    fn right_signed(self, amount: u32) -> Self;
    fn low_ones(length: u32) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn ones(self) -> u32;
    fn zeros(self) -> u32;
    fn reversed(self) -> Self;
    /// The bits that differ from the sign.
    fn magnitude(self) -> Self;
}

macro_rules! word {
    ($($unsigned:ident as $signed:ident),*) => {
        $(impl Word for $unsigned {
            const BITS: u32 = $unsigned::BITS;
            #[inline(always)]
            fn left(self, amount: u32) -> Self {
                self.checked_shl(amount).unwrap_or(0)
            }
            #[inline(always)]
            fn right(self, amount: u32) -> Self {
                self.checked_shr(amount).unwrap_or(0)
            }
            #[inline(always)]
            fn right_signed(self, amount: u32) -> Self {
                (self as $signed >> amount.min(Self::BITS - 1)) as $unsigned
            }
            #[inline(always)]
            fn low_ones(length: u32) -> Self {
                Self::left(1, length).wrapping_sub(1)
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn ones(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn zeros(self) -> u32 {
                self.leading_zeros()
            }
            #[inline(always)]
            fn reversed(self) -> Self {
                self.reverse_bits()
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self ^ (self as $signed >> (Self::BITS - 1)) as $unsigned
            }
        })*
    };
}

word!(u16 as i16, u32 as i32, u64 as i64);
