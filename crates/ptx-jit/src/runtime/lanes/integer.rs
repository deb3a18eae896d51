//! Integer arithmetic without vector instructions.

use super::area::{Area, Plain};
use super::widest;

/// The operations on integers. The parameter is the width, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum IntegerCall {
    Divide,
    DivideSigned,
    Remainder,
    RemainderSigned,
    /// The upper half of a product of 64-bit integers.
    MultiplyHigh,
    MultiplyHighSigned,
    /// Dot products of bytes; the parameter's bits say whether a and b are signed.
    DotProduct4,
    /// `dp2a`, of halves and bytes; the third bit of the parameter chooses the upper bytes.
    DotProduct2,
}

pub(crate) unsafe extern "C" fn integer(area: *mut Area, call: IntegerCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    widest(
        #[inline(always)]
        || apply(area, call, parameter),
    );
}

#[inline(always)]
fn apply(area: &mut Area, call: IntegerCall, parameter: u32) {
    let (a_signed, b_signed) = (parameter & 1 != 0, parameter & 2 != 0);
    match (call, parameter) {
        (IntegerCall::MultiplyHigh, _) => {
            area.zip(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64);
        }
        (IntegerCall::MultiplyHighSigned, _) => {
            area.zip(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64);
        }
        (IntegerCall::DotProduct4, _) => area.zip3(|a: u32, b: u32, c: u32| {
            let term = |at: u32| byte(a, at, a_signed).wrapping_mul(byte(b, at, b_signed));
            c.wrapping_add(
                term(0).wrapping_add(term(8)).wrapping_add(term(16).wrapping_add(term(24))),
            )
        }),
        (IntegerCall::DotProduct2, _) => {
            let from = if parameter & 4 != 0 { 16 } else { 0 };
            area.zip3(|a: u32, b: u32, c: u32| {
                let half =
                    |at: u32| if a_signed { (a >> at) as i16 as u32 } else { a >> at & 0xffff };
                let term =
                    |index: u32| half(16 * index).wrapping_mul(byte(b, from + 8 * index, b_signed));
                c.wrapping_add(term(0)).wrapping_add(term(1))
            });
        }
        (call, 16) => match call {
            IntegerCall::Divide => area.zip(<u16 as Dividend>::quotient),
            IntegerCall::DivideSigned => area.zip(<i16 as Dividend>::quotient),
            IntegerCall::Remainder => area.zip(<u16 as Dividend>::remainder),
            _ => area.zip(<i16 as Dividend>::remainder),
        },
        (call, 32) => {
            match call {
                IntegerCall::Divide => area.zip(quotient),
                IntegerCall::DivideSigned => area.zip(quotient_signed),
                IntegerCall::Remainder => area.zip(|a: u32, b| {
                    if b == 0 { a } else { a.wrapping_sub(quotient(a, b).wrapping_mul(b)) }
                }),
                _ => area.zip(|a: i32, b| {
                    if b == 0 { a } else { a.wrapping_sub(quotient_signed(a, b).wrapping_mul(b)) }
                }),
            }
        }
        (call, _) => match call {
            IntegerCall::Divide => area.zip(<u64 as Dividend>::quotient),
            IntegerCall::DivideSigned => area.zip(<i64 as Dividend>::quotient),
            IntegerCall::Remainder => area.zip(<u64 as Dividend>::remainder),
            _ => area.zip(<i64 as Dividend>::remainder),
        },
    }
}

#[inline(always)]
fn byte(word: u32, at: u32, signed: bool) -> u32 {
    let byte = (word >> at) as u8;
    if signed { byte as i8 as u32 } else { u32::from(byte) }
}

/// 2^52, and 1.5 times that: a whole number below 2^32 that is added to it stands in the low bits.
const UNSIGNED_SHIFT: f64 = 4_503_599_627_370_496.0;
const SIGNED_SHIFT: f64 = 1.5 * UNSIGNED_SHIFT;

/// A quotient by way of 64-bit floating-point numbers, which have vector instructions. It is exact:
/// a quotient of 32-bit integers that is no whole number is further from one than it is rounded.
#[inline(always)]
fn quotient(a: u32, b: u32) -> u32 {
    let quotient = (f64::from(a) / f64::from(b)).trunc();
    let bits = (quotient + UNSIGNED_SHIFT).to_bits() as u32;
    if b == 0 { u32::MAX } else { bits }
}

#[inline(always)]
fn quotient_signed(a: i32, b: i32) -> i32 {
    let quotient = (f64::from(a) / f64::from(b)).trunc();
    let bits = (quotient + SIGNED_SHIFT).to_bits() as i32;
    if b == 0 { -1 } else { bits }
}

/// Division where the manual leaves results open as the lowering of one thread has it: by zero it
/// gives all ones and the dividend, the lowest number by -1 itself and 0.
trait Dividend: Plain {
    fn quotient(self, by: Self) -> Self;
    fn remainder(self, by: Self) -> Self;
}

macro_rules! dividend {
    ($($ty:ident: $ones:expr),*) => {
        $(impl Dividend for $ty {
            #[inline(always)]
            fn quotient(self, by: Self) -> Self {
                if by == 0 { $ones } else { self.wrapping_div(by) }
            }
            #[inline(always)]
            fn remainder(self, by: Self) -> Self {
                if by == 0 { self } else { self.wrapping_rem(by) }
            }
        })*
    };
}

dividend!(u16: u16::MAX, i16: -1, u64: u64::MAX, i64: -1);
