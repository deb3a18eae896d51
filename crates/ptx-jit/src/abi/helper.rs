//! The table of functions that native code calls.
//!
//! Each takes and gives plain machine values. None may panic: nothing can unwind through native
//! code. The code generator needs their names and types alone; the addresses come with
//! [`HelperAddresses`], since some of the functions belong to the execution of blocks, which knows
//! the code generator.

use cranelift_codegen::ir::{Type, types};

use super::records::{KernelContext, ThreadRecord, WarpRecord};

/// A table of the addresses of the functions that native code is linked to.
pub(crate) type HelperAddresses = fn(Helper) -> *const u8;

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
    *const KernelContext => I64,
    *mut KernelContext => I64,
    *const ThreadRecord => I64,
    *mut WarpRecord => I64,
    *mut u32 => I64,
    *mut u16 => I64,
    f64 => F64,
}

/// Hands the table to a macro: `Name = function(parameters) -> result;` for each.
macro_rules! for_each_helper {
    ($macro:ident) => {
        $macro! {
            Check = check(*const KernelContext, *const ThreadRecord, u64, u32, u32, u64) -> u32;
            Deny = deny(*const KernelContext, *const ThreadRecord, u64, u32, u32);
            Acquired = acquired(*const KernelContext, *const ThreadRecord, u64);
            Fence = fence(*const KernelContext, *const ThreadRecord);
            CopyGroup = copy_group(*const KernelContext, *const ThreadRecord, u32);
            Mbarrier = mbarrier(*const KernelContext, *const ThreadRecord, u64, u32, u32, u32) -> u64;
            BulkCopy = bulk_copy(*const KernelContext, *const ThreadRecord, u64, u64, u32, u64, u32) -> u32;
            Passed = passed(*const KernelContext, *const ThreadRecord, u64, u32);
            Trap = trap(*const KernelContext, *const ThreadRecord, u32);
            StackOverflow = stack_overflow(*const KernelContext, *const ThreadRecord, u32);
            Poll = poll(*const KernelContext, *const ThreadRecord) -> u32;
            RunLanes = run_lanes(*mut KernelContext, *mut WarpRecord, u32, u32, u32, u32) -> u32;
            Exchange = exchange(*const KernelContext, *mut WarpRecord, u32) -> u32;
            Sweep = sweep(*mut KernelContext, u32);
            GatherLanes = gather(*mut KernelContext, *mut WarpRecord, u64, u32, u32) -> u32;
            ScatterLanes = scatter(*mut KernelContext, *mut WarpRecord, u64, u32, u32) -> u32;
            DenyGroup = deny_group(*const KernelContext, *mut WarpRecord, u64, u32);
            DenyRows = deny_rows(*const KernelContext, *mut WarpRecord, u64, u32, u32);
            Print = print(*const KernelContext, *const ThreadRecord, u64, u64, u32) -> i32;
            AssertFail = assert_fail(*const KernelContext, *const ThreadRecord, u64, u64, u32, u64, u32);
            Allocate = allocate(*const KernelContext, u64) -> u64;
            Release = release(*const KernelContext, *const ThreadRecord, u64, u32) -> u32;
            Clock = clock() -> u64;
            GlobalTimer = global_timer() -> u64;
            AtomicAddF16 = add_f16(*mut u16, u32) -> u32;
            AtomicAddBf16 = add_bf16(*mut u16, u32) -> u32;
            AtomicAddF16x2 = add_f16x2(*mut u32, u32) -> u32;
            AtomicAddBf16x2 = add_bf16x2(*mut u32, u32) -> u32;
            AtomicIncrement = increment(*mut u32, u32) -> u32;
            AtomicDecrement = decrement(*mut u32, u32) -> u32;
            FindCounted = find_counted(u32, u32, u32) -> u32;
            Permute = permute(u32, u32, u32, u32) -> u32;
            Sine = sine(f32) -> f32;
            Cosine = cosine(f32) -> f32;
            Log2 = log2(f32) -> f32;
            Exp2 = exp2(f32) -> f32;
            Tanh = tanh(f32) -> f32;
            RoundedF32 = rounded_f32(u32, u32, u32, u32, u32) -> u32;
            RoundedF64 = rounded_f64(u64, u64, u64, u32, u32) -> u64;
            FmaF16 = fma_f16(u32, u32, u32) -> u32;
            FmaBf16 = fma_bf16(u32, u32, u32) -> u32;
            F32ToF16 = f32_to_f16(f32) -> u32;
            F32ToBf16 = f32_to_bf16(f32) -> u32;
            F32ToByte = f32_to_byte(f32, u32) -> u32;
            ByteToF32 = byte_to_f32(u32, u32) -> f32;
            IntegerToFloat = integer_to_float(u64, u32, u32, u32) -> u64;
            FloatToFloat = float_to_float(u64, u32, u32, u32) -> u64;
        }
    };
}

pub(crate) use for_each_helper;

macro_rules! helpers {
    ($($name:ident = $function:ident ($($parameter:ty),*) $(-> $result:ty)?;)*) => {
        /// A function that native code calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Helper {
            $($name),*
        }

        impl Helper {
            /// All helpers.
            pub(crate) const ALL: &[Helper] = &[$(Helper::$name),*];

            /// The symbol under which native code knows it.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Helper::$name => concat!("sluice_", stringify!($function))),*
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

for_each_helper!(helpers);
