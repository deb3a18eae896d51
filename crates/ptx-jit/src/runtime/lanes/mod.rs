//! Functions over the 32 lanes of a warp, for what has no short form in vector instructions.
//!
//! Native code leaves the operands in an [`Area`] and finds the result there. Each function is
//! compiled twice, the second time for hosts with wider vectors.

mod area;
mod bits;
mod convert;
mod float;
mod half;
mod integer;
mod matrix;
mod warp;

pub(crate) use area::Area;
pub(crate) use bits::{BitsCall, bits};
pub(crate) use convert::{ConvertCall, convert};
pub(crate) use float::{FloatCall, float};
pub(crate) use half::{HalfCall, half};
pub(crate) use integer::{IntegerCall, integer};
pub(crate) use matrix::{
    MatrixArea, MatrixRegisters, RowLoad, exchange, exchange_rows, load_rows, multiply,
    multiply_matrices,
};
pub(crate) use warp::{WarpCall, warp};

/// Runs `work` with the widest vectors that the host has.
#[inline(always)]
fn widest(work: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        // SAFETY: the host has the features.
        return unsafe { wide(work) };
    }
    work();
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_wide_vectors() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi2,lzcnt,popcnt")]
fn wide(work: impl FnOnce()) {
    work();
}
