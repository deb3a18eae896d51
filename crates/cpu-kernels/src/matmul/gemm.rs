//! Products of dense or strided matrices of floats, by the crates `gemm-f32` and `gemm-f64`.

use gemm_common::Parallelism;

use super::product::Product;

/// A float that there is a `gemm` of.
pub(super) trait Gemm: Copy {
    /// Multiplies in the calling thread.
    ///
    /// # Safety
    /// The factors are valid for reads and the result for reads and writes with the product's sizes
    /// and strides, as elements of this type.
    unsafe fn gemm(product: Product);
}

macro_rules! gemm {
    ($($type:ty, $module:path;)+) => {$(
        impl Gemm for $type {
            unsafe fn gemm(product: Product) {
                use $module as module;
                let Product { m, n, k, c_row, accumulate, .. } = product;
                let (c, a, b) = (
                    product.c.cast::<$type>(),
                    product.a.cast::<$type>(),
                    product.b.cast::<$type>(),
                );
                let ([a_row, a_col], [b_row, b_col]) = (product.a_strides, product.b_strides);
                // The crate's microkernels write columns. Rows of c are columns of its transpose,
                // and that is the product of the transposed factors, in the other order.
                let transposed = TransposedProduct {
                    m: n,
                    n: m,
                    left: (b, b_row, b_col),
                    right: (a, a_row, a_col),
                };
                let TransposedProduct { m, n, mut left, mut right } = transposed;
                // Backward steps along the dimension that is summed over are not foreseen there.
                if left.1 < 0 && k > 0 {
                    left = (left.0.wrapping_offset((k - 1) as isize * left.1), -left.1, left.2);
                    right =
                        (right.0.wrapping_offset((k - 1) as isize * right.2), right.1, -right.2);
                }
                if k == 0 && accumulate {
                    return;
                }
                // SAFETY: these are the same matrices with the same strides (conditions of this
                // function).
                unsafe {
                    module::get_gemm_fn()(
                        m, n, k, c, c_row, 1, accumulate, left.0, left.1, left.2, right.0,
                        right.1, right.2, 1.0, 1.0, false, false, false, Parallelism::None,
                    );
                }
            }
        }
    )+};
}

gemm! {
    f32, gemm_f32::gemm::f32;
    f64, gemm_f64::gemm::f64;
}

/// The factors of the transposed product: address, distance along the dimension that is summed over,
/// and along the other one.
struct TransposedProduct<T> {
    m: usize,
    n: usize,
    left: (*const T, isize, isize),
    right: (*const T, isize, isize),
}
