//! CPU kernels of the matrix product: the crate `gemm` for floats, a loop for integers.

use std::ops::Range;
use std::ptr;

use gemm::Parallelism;
use half::f16;

use super::walk::for_each_run;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Matmul;
use crate::thread_pool;
use crate::{DType, Element};

/// The fewest multiplications of a single product that are worth splitting between threads.
const MIN_PARALLEL_MULTIPLICATIONS: usize = 96 * 96 * 96;

pub(crate) fn matmul(dtype: DType) -> Option<HostKernel<Matmul>> {
    Some(match dtype {
        DType::F16 => floats::<f16>,
        DType::F32 => floats::<f32>,
        DType::F64 => floats::<f64>,
        DType::I64 => integers,
        _ => return None,
    })
}

/// A float with the two factors that `gemm` takes: the product is `0 * c + 1 * a b`.
trait GemmScalar: Element {
    const ZERO: Self;
    const ONE: Self;
}

impl GemmScalar for f16 {
    const ZERO: f16 = f16::ZERO;
    const ONE: f16 = f16::ONE;
}

impl GemmScalar for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
}

impl GemmScalar for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

/// Multiplies floats: batches one after the other, a single large product split between threads.
///
/// # Safety
/// The conditions of a `HostKernel`, for elements of `T`; a unit is a batch.
unsafe fn floats<T: GemmScalar>(call: &Matmul, units: Range<usize>) {
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as usize);
    if units.len() == 1
        && thread_pool::threads() > 1
        && m.saturating_mul(n).saturating_mul(k) >= MIN_PARALLEL_MULTIPLICATIONS
    {
        let parallelism = Parallelism::Rayon(thread_pool::threads());
        // SAFETY: the conditions of this function are those of `multiply`. It runs in a thread of
        // the pool while this one waits, so the operands stay held.
        return thread_pool::run(|| unsafe { multiply::<T>(call, units, parallelism) });
    }
    // SAFETY: both functions have the conditions of a `HostKernel` for `T`, on the same call.
    unsafe { multiply::<T>(call, units, Parallelism::None) }
}

/// # Safety
/// The conditions of a `HostKernel`, for elements of `T`; a unit is a batch.
unsafe fn multiply<T: GemmScalar>(call: &Matmul, units: Range<usize>, parallelism: Parallelism) {
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as usize);
    let [a_row, a_col] = [call.a_row as isize, call.a_col as isize];
    let [b_row, b_col] = [call.b_row as isize, call.b_col as isize];
    // SAFETY: the matrices of each batch lie in memory with these strides, c is dense, and nobody
    // else uses it or writes a and b (conditions of this function).
    unsafe {
        for_each_batch::<T>(call, units, |c, a, b| {
            if k == 0 {
                return c.write_bytes(0, m * n);
            }
            gemm::gemm(
                m,
                n,
                k,
                c,
                1,
                n as isize,
                false,
                a,
                a_col,
                a_row,
                b,
                b_col,
                b_row,
                T::ZERO,
                T::ONE,
                false,
                false,
                false,
                parallelism,
            );
        });
    }
}

/// Multiplies integers, which wrap around.
///
/// # Safety
/// The conditions of a `HostKernel`, for elements of `i64`; a unit is a batch.
unsafe fn integers(call: &Matmul, units: Range<usize>) {
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as isize);
    let element = |a: *const i64, b: *const i64, row: isize, col: isize| {
        (0..k).fold(0i64, |sum, deep| {
            // SAFETY: row and column lie in the matrices, which lie in memory with these strides (a
            // condition of this function).
            let (a, b) = unsafe {
                (
                    *a.offset(row * call.a_row as isize + deep * call.a_col as isize),
                    *b.offset(deep * call.b_row as isize + col * call.b_col as isize),
                )
            };
            sum.wrapping_add(a.wrapping_mul(b))
        })
    };
    // SAFETY: c is dense, of m by n elements, and nobody else uses it (a condition of this
    // function).
    unsafe {
        for_each_batch::<i64>(call, units, |c, a, b| {
            for row in 0..m {
                for col in 0..n {
                    *c.offset(row * n + col) = element(a, b, row, col);
                }
            }
        });
    }
}

/// Calls `product(c, a, b)` for each batch.
///
/// # Safety
/// The batches lie in memory as the call says.
unsafe fn for_each_batch<T>(
    call: &Matmul,
    units: Range<usize>,
    product: impl Fn(*mut T, *const T, *const T),
) {
    let c = ptr::with_exposed_provenance_mut::<T>(call.c as usize);
    let a = ptr::with_exposed_provenance::<T>(call.a as usize);
    let b = ptr::with_exposed_provenance::<T>(call.b as usize);
    let dims = call.batch_dims as usize;
    let (sizes, strides) =
        (&call.batch_sizes[..dims], [&call.a_batch[..dims], &call.b_batch[..dims]]);
    let steps = strides.map(|strides| strides.last().map_or(0, |&stride| stride as isize));
    let matrix = (call.m * call.n) as usize;
    for_each_run(sizes, strides, units, |first, [a_start, b_start], len| {
        for batch in 0..len {
            // SAFETY: the batch is one of the call's, whose matrices lie at these offsets (a
            // condition of this function).
            unsafe {
                product(
                    c.add((first + batch) * matrix),
                    a.offset(a_start + batch as isize * steps[0]),
                    b.offset(b_start + batch as isize * steps[1]),
                );
            }
        }
    });
}
