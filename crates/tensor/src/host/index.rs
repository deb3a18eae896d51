//! CPU kernels of `gather`, `scatter_add`, `index_select` and `index_add`.
//!
//! The dispatcher has checked the indices, while holding the locks that these kernels run under.

use std::ops::Range;
use std::ptr;

use half::f16;

use super::arithmetic::Arithmetic;
use super::element::Stored;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Index;
use crate::{DType, Element};

/// Calls `visit(position, element)` for each position of the outer indices `units` and the element
/// that its index chooses. There is an index for each position (`PER_ELEMENT`), or one for each
/// slice.
///
/// # Safety
/// The call's index has an `i64` for each position or slice, and nobody writes it meanwhile.
#[inline(always)]
unsafe fn for_each_choice<const PER_ELEMENT: bool>(
    call: &Index,
    units: Range<usize>,
    mut visit: impl FnMut(usize, usize),
) {
    let [size, count, inner] = [call.size, call.count, call.inner].map(|n| n as usize);
    let index = ptr::with_exposed_provenance::<i64>(call.index as usize);
    for outer in units {
        for slice in 0..count {
            for i in 0..inner {
                let position = (outer * count + slice) * inner + i;
                let entry = if PER_ELEMENT { position } else { slice };
                // SAFETY: there is an index for each position or slice (a condition of this
                // function).
                let chosen = unsafe { *index.add(entry) } as usize;
                visit(position, (outer * size + chosen) * inner + i);
            }
        }
    }
}

/// Sets each position of the output to the element that its index chooses.
///
/// # Safety
/// The conditions of a `HostKernel`, for elements of `T`; a unit is an outer index.
unsafe fn read<T: Stored, const PER_ELEMENT: bool>(call: &Index, units: Range<usize>) {
    let out = ptr::with_exposed_provenance_mut::<T::Raw>(call.out as usize);
    let source = ptr::with_exposed_provenance::<T::Raw>(call.source as usize);
    // SAFETY: positions and chosen elements lie in the call's memory; the indices were checked.
    unsafe {
        for_each_choice::<PER_ELEMENT>(call, units, |position, element| {
            *out.add(position) = *source.add(element);
        });
    }
}

/// Adds each position of the source to the element that its index chooses. Different outer indices
/// choose different elements, so units can be split between threads.
///
/// # Safety
/// The conditions of a `HostKernel`, for elements of `T`; a unit is an outer index.
unsafe fn add<T: Stored<Value: Arithmetic>, const PER_ELEMENT: bool>(
    call: &Index,
    units: Range<usize>,
) {
    let out = ptr::with_exposed_provenance_mut::<T::Raw>(call.out as usize);
    let source = ptr::with_exposed_provenance::<T::Raw>(call.source as usize);
    // SAFETY: positions and chosen elements lie in the call's memory; the indices were checked.
    unsafe {
        for_each_choice::<PER_ELEMENT>(call, units, |position, element| {
            let sum = T::load(*out.add(element)).plus(T::load(*source.add(position)));
            *out.add(element) = T::store(sum);
        });
    }
}

macro_rules! indexed {
    ($($name:ident: $($type:ident)+ => $kernel:ident, $per_element:literal;)+) => {$(
        pub(crate) fn $name(dtype: DType) -> Option<HostKernel<Index>> {
            Some(match dtype {
                $(<$type as Element>::DTYPE => $kernel::<$type, $per_element>,)+
                #[allow(unreachable_patterns, reason = "some tables have all dtypes")]
                _ => return None,
            })
        }
    )+};
}

indexed! {
    gather: f16 f32 f64 i64 u8 bool => read, true;
    index_select: f16 f32 f64 i64 u8 bool => read, false;
    scatter_add: f16 f32 f64 i64 => add, true;
    index_add: f16 f32 f64 i64 => add, false;
}
