//! The functions that native code calls, and the table by which the code generator knows them.
//!
//! Each takes and gives plain machine values. None may panic: nothing can unwind through native
//! code.

mod atomic;
mod bits;
mod exact;
mod format;
mod lanes;
mod math;
mod memory;
mod odd;
mod rounded;
mod system;

use cranelift_codegen::ir::{Type, types};

use super::lockstep;
use super::state::{Context, Thread, WarpRecord};

pub(crate) use format::Format;
pub(crate) use lanes::{Area, BitsCall, ConvertCall, FloatCall, HalfCall, IntegerCall, WarpCall};
pub(crate) use memory::describe_access;
pub(crate) use rounded::RoundedOp;
#[cfg(test)]
pub(crate) use rounded::{compute, convert, convert_integer};

/// A type that native code passes in a register.
trait Native {
    const TYPE: Type;
}

macro_rules! native {
    ($($rust:ty => $machine:ident),* $(,)?) => {
        $(impl Native for $rust {
            const TYPE: Type = types::$machine;
        })*
    };
}

native! {
    u32 => I32,
    i32 => I32,
    u64 => I64,
    f32 => F32,
    *const Context => I64,
    *mut Context => I64,
    *const Thread => I64,
    *mut WarpRecord => I64,
    *mut u32 => I64,
    *mut u16 => I64,
    f64 => F64,
    *mut Area => I64,
    BitsCall => I32,
    ConvertCall => I32,
    FloatCall => I32,
    HalfCall => I32,
    IntegerCall => I32,
    WarpCall => I32,
}

macro_rules! helpers {
    ($($name:ident = $module:ident::$function:ident ($($parameter:ty),*) $(-> $result:ty)?;)*) => {
        /// A function that native code calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Helper {
            $($name),*
        }

        impl Helper {
            /// All of them.
            pub(crate) const ALL: &[Helper] = &[$(Helper::$name),*];

            /// The symbol under which native code knows it.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Helper::$name => concat!("sluice_", stringify!($function))),*
                }
            }

            pub(crate) fn address(self) -> *const u8 {
                match self {
                    $(Helper::$name => {
                        let function: unsafe extern "C" fn($($parameter),*) $(-> $result)? =
                            $module::$function;
                        function as *const u8
                    })*
                }
            }

            /// The machine types of its parameters.
            pub(crate) fn parameters(self) -> &'static [Type] {
                match self {
                    $(Helper::$name => &[$(<$parameter as Native>::TYPE),*]),*
                }
            }

            /// The machine type of its result, if it has one.
            pub(crate) fn result(self) -> Option<Type> {
                match self {
                    $(Helper::$name => helpers!(@result $($result)?)),*
                }
            }
        }
    };
    (@result) => { None };
    (@result $result:ty) => { Some(<$result as Native>::TYPE) };
}

helpers! {
    Check = memory::check(*const Context, *const Thread, u64, u32, u32, u64) -> u32;
    Deny = memory::deny(*const Context, *const Thread, u64, u32, u32);
    Acquired = memory::acquired(*const Context, *const Thread, u64);
    Fence = memory::fence(*const Context, *const Thread);
    Passed = memory::passed(*const Context, *const Thread, u64, u32);
    Trap = system::trap(*const Context, *const Thread, u32);
    StackOverflow = system::stack_overflow(*const Context, *const Thread, u32);
    Poll = system::poll(*const Context, *const Thread) -> u32;
    RunLanes = lockstep::run_lanes(*mut Context, *mut WarpRecord, u32, u32, u32, u32) -> u32;
    Exchange = lockstep::exchange(*const Context, *mut WarpRecord, u32) -> u32;
    Sweep = lockstep::sweep(*mut Context, u32);
    GatherLanes = lockstep::gather(*mut Context, *mut WarpRecord, u64, u32, u32) -> u32;
    ScatterLanes = lockstep::scatter(*mut Context, *mut WarpRecord, u64, u32, u32) -> u32;
    Print = system::print(*const Context, *const Thread, u64, u64, u32) -> i32;
    AssertFail = system::assert_fail(*const Context, *const Thread, u64, u64, u32, u64, u32);
    Allocate = system::allocate(*const Context, u64) -> u64;
    Release = system::release(*const Context, *const Thread, u64, u32) -> u32;
    Clock = system::clock() -> u64;
    GlobalTimer = system::global_timer() -> u64;
    AtomicAddF16 = atomic::add_f16(*mut u16, u32) -> u32;
    AtomicAddBf16 = atomic::add_bf16(*mut u16, u32) -> u32;
    AtomicAddF16x2 = atomic::add_f16x2(*mut u32, u32) -> u32;
    AtomicAddBf16x2 = atomic::add_bf16x2(*mut u32, u32) -> u32;
    AtomicIncrement = atomic::increment(*mut u32, u32) -> u32;
    AtomicDecrement = atomic::decrement(*mut u32, u32) -> u32;
    FindCounted = bits::find_counted(u32, u32, u32) -> u32;
    Permute = bits::permute(u32, u32, u32, u32) -> u32;
    Sine = math::sine(f32) -> f32;
    Cosine = math::cosine(f32) -> f32;
    Log2 = math::log2(f32) -> f32;
    Exp2 = math::exp2(f32) -> f32;
    Tanh = math::tanh(f32) -> f32;
    RoundedF32 = rounded::rounded_f32(u32, u32, u32, u32, u32) -> u32;
    RoundedF64 = rounded::rounded_f64(u64, u64, u64, u32, u32) -> u64;
    FmaF16 = rounded::fma_f16(u32, u32, u32) -> u32;
    FmaBf16 = rounded::fma_bf16(u32, u32, u32) -> u32;
    F32ToF16 = rounded::f32_to_f16(f32) -> u32;
    F32ToBf16 = rounded::f32_to_bf16(f32) -> u32;
    F32ToByte = rounded::f32_to_byte(f32, u32) -> u32;
    ByteToF32 = rounded::byte_to_f32(u32, u32) -> f32;
    IntegerToFloat = rounded::integer_to_float(u64, u32, u32, u32) -> u64;
    FloatToFloat = rounded::float_to_float(u64, u32, u32, u32) -> u64;
    LanesBits = lanes::bits(*mut Area, BitsCall, u32);
    LanesConvert = lanes::convert(*mut Area, ConvertCall, u32);
    LanesFloat = lanes::float(*mut Area, FloatCall, u32);
    LanesHalf = lanes::half(*mut Area, HalfCall, u32);
    LanesInteger = lanes::integer(*mut Area, IntegerCall, u32);
    LanesWarp = lanes::warp(*mut Area, WarpCall, u32);
}
