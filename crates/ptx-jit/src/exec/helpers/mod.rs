//! The functions that native code calls, with their addresses: those that need the running block are
//! here and in `lockstep`, the others in `runtime`.

mod mbarrier;
mod memory;
mod system;

use self::mbarrier::{bulk_copy, mbarrier};
use self::memory::{acquired, check, copy_group, deny, fence, passed};
use self::system::{
    allocate, assert_fail, clock, global_timer, poll, print, release, stack_overflow, trap,
};
use super::lockstep::{deny_group, deny_rows, exchange, gather, run_lanes, scatter, sweep};
use crate::abi::{Helper, KernelContext, ThreadRecord, WarpRecord, for_each_helper};
use crate::runtime::{
    add_bf16, add_bf16x2, add_f16, add_f16x2, byte_to_f32, cosine, decrement, exp2, f32_to_bf16,
    f32_to_byte, f32_to_f16, find_counted, float_to_float, fma_bf16, fma_f16, increment,
    integer_to_float, log2, permute, rounded_f32, rounded_f64, sine, tanh,
};

macro_rules! addresses {
    ($($name:ident = $function:ident ($($parameter:ty),*) $(-> $result:ty)?;)*) => {
        /// The address of a function that native code calls. Its type is that of the table.
        pub(crate) fn address(helper: Helper) -> *const u8 {
            match helper {
                $(Helper::$name => {
                    let function: unsafe extern "C" fn($($parameter),*) $(-> $result)? = $function;
                    function as *const u8
                })*
            }
        }
    };
}

for_each_helper!(addresses);
