//! Elementwise CPU kernels: functions of one to four operands that are applied element by element,
//! and the macro that makes tables of them by dtype.

use std::ops::Range;
use std::ptr;

use super::element::Stored;
use super::walk::{for_each_run, for_each_tiled_run};
use crate::dispatch::abi::{Elementwise, StridedOperand};

/// A pointer to evenly spaced elements of an operand; a stride of 0 repeats the first one.
struct StridedPtr<T: Stored> {
    start: *mut T::Raw,
    stride: isize,
}

impl<T: Stored> StridedPtr<T> {
    /// The elements from `offset` on.
    ///
    /// # Safety
    /// The operand's memory holds elements of `T`, among them the one at `offset`.
    #[inline(always)]
    unsafe fn new(operand: &StridedOperand, offset: isize, stride: isize) -> StridedPtr<T> {
        if operand.data == 0 {
            // The low bytes come first; nothing is written through the pointer of an input.
            return StridedPtr {
                start: (&raw const operand.immediate).cast_mut().cast(),
                stride: 0,
            };
        }
        let base = ptr::with_exposed_provenance_mut::<T::Raw>(operand.data as usize);
        // SAFETY: the element at `offset` lies in the operand's memory, as does the one at 0 (a
        // condition of this function).
        StridedPtr { start: unsafe { base.offset(offset) }, stride }
    }

    /// The address of element `index`.
    ///
    /// # Safety
    /// Element `index` lies in the operand's memory.
    #[inline(always)]
    unsafe fn at(&self, index: usize) -> *mut T::Raw {
        // SAFETY: the element lies in the memory that `start` points into (a condition of this
        // function).
        unsafe { self.start.offset(index as isize * self.stride) }
    }

    /// The value of element `index`.
    ///
    /// # Safety
    /// Element `index` lies in the operand's memory, and nobody writes it meanwhile.
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> T::Value {
        // SAFETY: the element lies in the operand's memory, which is aligned for `T`, and nobody
        // writes it (conditions of this function).
        T::load(unsafe { *self.at(index) })
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// Element `index` lies in the operand's memory, and nobody else uses it.
    #[inline(always)]
    unsafe fn set(&self, index: usize, value: T::Value) {
        // SAFETY: the element lies in the operand's memory, which is aligned for `T`, and nobody
        // else uses it (conditions of this function).
        unsafe { *self.at(index) = T::store(value) };
    }

    /// The same elements, with a stride that is a constant for the compiler, so that it can
    /// vectorize.
    #[inline(always)]
    fn assume(&self, stride: isize) -> StridedPtr<T> {
        StridedPtr { start: self.start, stride }
    }
}

/// Calls `run(offsets, strides, length)` for runs of evenly spaced elements that together are the
/// units of a call. Offsets and strides are in elements.
#[inline(always)]
fn runs<const N: usize>(
    call: &Elementwise<N>,
    units: Range<usize>,
    mut run: impl FnMut([isize; N], [isize; N], usize),
) {
    if call.contiguous != 0 {
        run([units.start as isize; N], [1; N], units.len());
    } else {
        strided_runs(call, units, &mut run);
    }
}

/// The runs of operands that do not all lie densely.
///
/// The loop body comes as a `dyn FnMut`, so that this is one function for all kernels. Inlined into
/// each of them, every kernel would have its loops once for each order of the walk, and take many
/// times as long to compile; a virtual call per run costs little.
fn strided_runs<const N: usize>(
    call: &Elementwise<N>,
    units: Range<usize>,
    run: &mut dyn FnMut([isize; N], [isize; N], usize),
) {
    let dims = call.dims as usize;
    let strides = call.operands.each_ref().map(|operand| &operand.strides[..dims]);
    let innermost = strides.map(|strides| strides.last().map_or(0, |&stride| stride as isize));
    let sizes = &call.sizes[..dims];
    if strides.iter().any(|strides| is_transposed(strides)) {
        for_each_tiled_run(sizes, strides, units, |offsets, len| run(offsets, innermost, len));
    } else {
        for_each_run(sizes, strides, units, |_, offsets, len| run(offsets, innermost, len));
    }
}

/// Whether neighbours along the last dimension but one are nearer in memory than those along the
/// last.
fn is_transposed(strides: &[i64]) -> bool {
    match *strides {
        [.., down, right] => down != 0 && down.abs() < right.abs(),
        _ => false,
    }
}

/// `out = f(a)`
///
/// # Safety
/// The conditions of a `HostKernel`, for an output of `O` and an operand of `A`.
#[inline(always)]
pub(super) unsafe fn map1<O: Stored, A: Stored>(
    call: &Elementwise<2>,
    units: Range<usize>,
    f: impl Fn(A::Value) -> O::Value,
) {
    // SAFETY: the conditions of this function are those of `convert`, for the same operands.
    unsafe { convert::<O, A>(call, units, |raw| O::store(f(A::load(raw)))) }
}

/// `out = f(a)`, where `f` works on the elements as they lie in memory.
///
/// # Safety
/// The conditions of a `HostKernel`, for an output of `O` and an operand of `A`.
#[inline(always)]
pub(super) unsafe fn convert<O: Stored, A: Stored>(
    call: &Elementwise<2>,
    units: Range<usize>,
    f: impl Fn(A::Raw) -> O::Raw,
) {
    let [out, a] = &call.operands;
    runs(call, units, |offsets, strides, len| {
        // SAFETY: the runs lie inside the operands' memory, which has elements of these types,
        // nobody else writes it, and nobody else uses the units of the output (conditions of this
        // function).
        unsafe {
            let out = StridedPtr::<O>::new(out, offsets[0], strides[0]);
            let a = StridedPtr::<A>::new(a, offsets[1], strides[1]);
            let each = |out: StridedPtr<O>, a: StridedPtr<A>| {
                for i in 0..len {
                    *out.at(i) = f(*a.at(i));
                }
            };
            match (out.stride, a.stride) {
                (1, 1) => each(out.assume(1), a.assume(1)),
                (1, 0) => each(out.assume(1), a.assume(0)),
                _ => each(out, a),
            }
        }
    });
}

/// `out = f(a, b)`
///
/// # Safety
/// The conditions of a `HostKernel`, for an output of `O` and operands of `A` and `B`.
#[inline(always)]
pub(super) unsafe fn map2<O: Stored, A: Stored, B: Stored>(
    call: &Elementwise<3>,
    units: Range<usize>,
    f: impl Fn(A::Value, B::Value) -> O::Value,
) {
    let [out, a, b] = &call.operands;
    runs(call, units, |offsets, strides, len| {
        // SAFETY: the runs lie inside the operands' memory, which has elements of these types,
        // nobody else writes it, and nobody else uses the units of the output (conditions of this
        // function).
        unsafe {
            let out = StridedPtr::<O>::new(out, offsets[0], strides[0]);
            let a = StridedPtr::<A>::new(a, offsets[1], strides[1]);
            let b = StridedPtr::<B>::new(b, offsets[2], strides[2]);
            let each = |out: StridedPtr<O>, a: StridedPtr<A>, b: StridedPtr<B>| {
                for i in 0..len {
                    out.set(i, f(a.get(i), b.get(i)));
                }
            };
            match (out.stride, a.stride, b.stride) {
                (1, 1, 1) => each(out.assume(1), a.assume(1), b.assume(1)),
                (1, 1, 0) => each(out.assume(1), a.assume(1), b.assume(0)),
                (1, 0, 1) => each(out.assume(1), a.assume(0), b.assume(1)),
                _ => each(out, a, b),
            }
        }
    });
}

/// `out = f(a, b, c)`
///
/// # Safety
/// The conditions of a `HostKernel`, for an output of `O` and operands of `A`, `B` and `C`.
#[inline(always)]
pub(super) unsafe fn map3<O: Stored, A: Stored, B: Stored, C: Stored>(
    call: &Elementwise<4>,
    units: Range<usize>,
    f: impl Fn(A::Value, B::Value, C::Value) -> O::Value,
) {
    let [out, a, b, c] = &call.operands;
    runs(call, units, |offsets, strides, len| {
        // SAFETY: the runs lie inside the operands' memory, which has elements of these types,
        // nobody else writes it, and nobody else uses the units of the output (conditions of this
        // function).
        unsafe {
            let out = StridedPtr::<O>::new(out, offsets[0], strides[0]);
            let a = StridedPtr::<A>::new(a, offsets[1], strides[1]);
            let b = StridedPtr::<B>::new(b, offsets[2], strides[2]);
            let c = StridedPtr::<C>::new(c, offsets[3], strides[3]);
            let each =
                |out: StridedPtr<O>, a: StridedPtr<A>, b: StridedPtr<B>, c: StridedPtr<C>| {
                    for i in 0..len {
                        out.set(i, f(a.get(i), b.get(i), c.get(i)));
                    }
                };
            match (out.stride, a.stride, b.stride, c.stride) {
                // As an optimizer steps: two tensors and a number.
                (1, 1, 1, 0) => each(out.assume(1), a.assume(1), b.assume(1), c.assume(0)),
                (1, 1, 1, 1) => each(out.assume(1), a.assume(1), b.assume(1), c.assume(1)),
                _ => each(out, a, b, c),
            }
        }
    });
}

/// `out = f(a, b, c, d)`
///
/// # Safety
/// The conditions of a `HostKernel`, for operands that are all of `T`.
#[inline(always)]
pub(super) unsafe fn map4<T: Stored>(
    call: &Elementwise<5>,
    units: Range<usize>,
    f: impl Fn(T::Value, T::Value, T::Value, T::Value) -> T::Value,
) {
    runs(call, units, |offsets, strides, len| {
        // SAFETY: the runs lie inside the operands' memory, which has elements of these types,
        // nobody else writes it, and nobody else uses the units of the output (conditions of this
        // function).
        unsafe {
            let [out, a, b, c, d]: [StridedPtr<T>; 5] = std::array::from_fn(|position| {
                StridedPtr::new(&call.operands[position], offsets[position], strides[position])
            });
            let each =
                |out: StridedPtr<T>, a: StridedPtr<T>, b: StridedPtr<T>, c: StridedPtr<T>| {
                    for i in 0..len {
                        out.set(i, f(a.get(i), b.get(i), c.get(i), d.get(i)));
                    }
                };
            match [out.stride, a.stride, b.stride, c.stride] {
                [1, 1, 1, 1] => each(out.assume(1), a.assume(1), b.assume(1), c.assume(1)),
                _ => each(out, a, b, c),
            }
        }
    });
}

/// Makes tables of kernels. `name: dtypes => function, dtypes => function;` defines a function
/// `name` from a dtype to the kernel that applies the function to elements of that dtype. `$map` is
/// one of the maps above, and `[..]` are its type parameters, in which `T` stands for the type of
/// the dtype.
macro_rules! kernels {
    ($map:ident, $call:ty, $types:tt;
     $($name:ident: $($($type:ident)+ => $function:expr),+;)+) => {$(
        pub(crate) fn $name(dtype: crate::DType) -> Option<crate::dispatch::HostKernel<$call>> {
            Some(match dtype {
                $($(<$type as crate::Element>::DTYPE => {
                    let kernel: crate::dispatch::HostKernel<$call> =
                        super::map::kernels!(@one $map, $call, $types, $type, $function);
                    kernel
                })+)+
                #[allow(unreachable_patterns, reason = "some tables have all dtypes")]
                _ => return None,
            })
        }
    )+};
    (@one $map:ident, $call:ty, [$($types:tt)*], $type:ident, $function:expr) => {{
        #[allow(dead_code, reason = "some maps name no type of the dtype's")]
        type T = $type;
        super::vector::vectorized!(fn(call: &$call, units) {
            // SAFETY: `$types` are the types of the dtype that the kernel is chosen by, and the
            // conditions of a `HostKernel` are those of the map.
            unsafe { super::map::$map::<$($types)*>(call, units, $function) }
        })
    }};
}

pub(super) use kernels;
