//! CPU kernels that read and add at positions which a tensor of indices gives.
//!
//! The dispatch has checked the indices, under the locks that these kernels run under.

use std::ops::Range;
use std::ptr;

use half::f16;

use super::arithmetic::Arithmetic;
use super::element::Stored;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Index;
use crate::{DType, Element};

/// Visits the positions of the outer indices `units` with the element that each chooses. The index
/// has an entry for each position, or one for each slice.
///
/// # Safety
/// The call's index is as large as that, and readable.
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
                // SAFETY: the caller's promise.
                let chosen = unsafe { *index.add(entry) } as usize;
                visit(position, (outer * size + chosen) * inner + i);
            }
        }
    }
}

/// # Safety
/// As `HostKernel`, for elements of `T`; a unit is an outer index.
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

/// # Safety
/// As `read`. Units add to elements of their own.
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
