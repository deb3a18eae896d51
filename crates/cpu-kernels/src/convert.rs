//! Blocks of elements that are brought from memory into dense values, and results on their way
//! back.

use std::ops::{Add, Div, Mul, Sub};

use expression::DType;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::values::{
    BrainBits, ComputeValue, ConvertedFrom, HalfBits, StoredValue, TruthByte, stored_as,
};

/// Elements in memory, and where their values go.
#[derive(Clone, Copy)]
pub(crate) struct LoadArguments {
    pub(crate) from: *const u8,
    /// The distance of the elements, in elements.
    pub(crate) stride: isize,
    pub(crate) len: usize,
    pub(crate) to: *mut u8,
}

/// Dense values, and the dense elements that they become.
#[derive(Clone, Copy)]
struct StoreArguments {
    from: *const u8,
    len: usize,
    to: *mut u8,
}

/// Converts elements to values.
///
/// # Safety
/// The elements are valid for reads and the values' place for writes; they do not overlap; the
/// processor has the instruction set.
pub(crate) type Load = unsafe fn(LoadArguments);

/// A conversion of values to elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store {
    convert: unsafe fn(StoreArguments),
    /// Bytes per element.
    size: usize,
}

impl Store {
    /// Stores values to the elements from `first` on.
    ///
    /// # Safety
    /// The store was made for values of `V`, and `output` is valid for writes of these elements.
    pub(crate) unsafe fn store<V: ComputeValue>(self, values: &[V], output: *mut u8, first: usize) {
        let (from, len) = (values.as_ptr().cast(), values.len());
        // SAFETY: the place of element `first` is within the output (a condition of this function),
        // and who made the store chose a set that the processor has.
        unsafe { (self.convert)(StoreArguments { from, len, to: output.add(first * self.size) }) };
    }
}

struct Loading<S, C>(std::marker::PhantomData<(S, C)>);

impl<S: StoredValue, C: ConvertedFrom<S::Compute>> Multiversioned for Loading<S, C> {
    type Arguments = LoadArguments;
    type Output = ();

    /// # Safety
    /// The conditions of [`Load`].
    #[inline(always)]
    unsafe fn run<I: Isa>(block: LoadArguments) {
        let (from, to) = (block.from.cast::<S>(), block.to.cast::<C>());
        if block.stride == 1 {
            for at in 0..block.len {
                // SAFETY: `at` is below the number of elements, which are valid (conditions of this
                // function).
                unsafe { to.add(at).write(C::converted_from(from.add(at).read().load())) };
            }
        } else {
            for at in 0..block.len {
                // SAFETY: `at` is below the number of elements, which are valid (conditions of this function).
                unsafe {
                    let element = from.offset(at as isize * block.stride).read();
                    to.add(at).write(C::converted_from(element.load()));
                }
            }
        }
    }
}

/// Converts elements to 1 where they differ from zero, else 0, as `i64`.
struct Counting<S>(std::marker::PhantomData<S>);

impl<S: StoredValue> Multiversioned for Counting<S>
where
    TruthByte: ConvertedFrom<S::Compute>,
{
    type Arguments = LoadArguments;
    type Output = ();

    /// # Safety
    /// The conditions of [`Load`].
    #[inline(always)]
    unsafe fn run<I: Isa>(block: LoadArguments) {
        let (from, to) = (block.from.cast::<S>(), block.to.cast::<i64>());
        for at in 0..block.len {
            // SAFETY: `at` is below the number of elements, which are valid (conditions of this
            // function).
            unsafe {
                let element = from.offset(at as isize * block.stride).read();
                to.add(at).write(i64::from(TruthByte::converted_from(element.load()).0));
            }
        }
    }
}

struct Storing<S, C>(std::marker::PhantomData<(S, C)>);

impl<C: Copy, S: StoredValue<Compute: ConvertedFrom<C>>> Multiversioned for Storing<S, C> {
    type Arguments = StoreArguments;
    type Output = ();

    /// # Safety
    /// The conditions of [`Load`].
    #[inline(always)]
    unsafe fn run<I: Isa>(block: StoreArguments) {
        let (from, to) = (block.from.cast::<C>(), block.to.cast::<S>());
        for at in 0..block.len {
            // SAFETY: `at` is below the number of values, which are valid (conditions of this
            // function).
            unsafe { to.add(at).write(S::store(S::Compute::converted_from(from.add(at).read()))) };
        }
    }
}

/// A type that elements are loaded as, with the dtypes for which there is a conversion.
pub(crate) trait Loaded: ComputeValue {
    /// The conversion from a dtype, or `None` if there is none.
    fn load_from(dtype: DType, set: InstructionSet) -> Option<Load>;
    /// The conversion to a dtype, or `None` if there is none.
    fn store_to(dtype: DType, set: InstructionSet) -> Option<Store>;
}

macro_rules! loaded {
    ($($type:ty: from $($from:ident)+, to $($to:ident)+;)+) => {$(
        impl Loaded for $type {
            fn load_from(dtype: DType, set: InstructionSet) -> Option<Load> {
                let load: Version<Loading<f32, f32>> = match dtype {
                    $(DType::$from => set.version::<Loading<stored_as!($from), $type>>(),)+
                    #[allow(unreachable_patterns, reason = "some types have all dtypes")]
                    _ => return None,
                };
                Some(load)
            }

            fn store_to(dtype: DType, set: InstructionSet) -> Option<Store> {
                let convert: Version<Storing<f32, f32>> = match dtype {
                    $(DType::$to => set.version::<Storing<stored_as!($to), $type>>(),)+
                    #[allow(unreachable_patterns, reason = "some types have all dtypes")]
                    _ => return None,
                };
                Some(Store { convert, size: dtype.size() })
            }
        }
    )+};
}

/// A float that functions of whole rows are computed in.
pub(crate) trait FloatValue:
    Loaded
    + ConvertedFrom<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    fn sqrt(self) -> Self;
}

macro_rules! float_values {
    ($($type:ty)+) => {$(
        impl FloatValue for $type {
            #[inline(always)]
            fn sqrt(self) -> $type {
                <$type>::sqrt(self)
            }
        }
    )+};
}

float_values! { f32 f64 }

/// The conversion from a dtype to 1 for elements that differ from zero, and 0 for others, as `i64`.
pub(crate) fn count_from(dtype: DType, set: InstructionSet) -> Load {
    macro_rules! by_dtype {
        ($($from:ident)+) => {
            match dtype { $(DType::$from => set.version::<Counting<stored_as!($from)>>(),)+ }
        };
    }
    by_dtype!(F64 F32 F16 BF16 I64 I32 I16 I8 U8 Bool)
}

loaded! {
    f64: from F64 F32 F16 BF16, to F64 F32 F16 BF16;
    f32: from F32 F16 BF16, to F32 F16 BF16;
    i64: from I64 I32 I16 I8 U8 Bool, to I64 I32 I16 I8 U8;
    i32: from I32 I16 I8 U8, to I32 I16 I8 U8;
    TruthByte: from F64 F32 F16 BF16 I64 I32 I16 I8 U8 Bool, to U8 Bool;
}
