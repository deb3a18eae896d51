//! Products with few rows or columns whose summed elements are neighbours in both factors, like the
//! last layer of a classifier: dot products, in which vectors run along the sums.
//!
//! In the other microkernels of the crate `gemm` vectors run along a column of the result. Where that is
//! shorter than a vector, most of it is idle, and a factor has to be packed besides.

use super::gemm::Gemm;
use super::product::Product;

/// The most results for which `gemm` computes dot products.
const MAX_RESULTS: usize = 16 * 16;

/// The fewest summed elements: several vectors.
const SHORTEST: usize = 64;

/// Whether a product is faster so.
pub(super) fn is_of_dots(product: &Product) -> bool {
    let Product { m, n, k, a_strides, b_strides, .. } = *product;
    (2..16).contains(&m.min(n)) && k >= SHORTEST && a_strides[1] == 1 && b_strides[0] == 1
}

/// Multiplies in the calling thread, so many results at a time as `gemm` computes in that way.
///
/// # Safety
/// The conditions of [`Gemm::gemm`].
pub(super) unsafe fn multiply_in_dots<T: Gemm>(product: Product) {
    let Product { m, n, .. } = product;
    let [rows, cols] = match n <= m {
        true => [MAX_RESULTS / n, n],
        false => [m, MAX_RESULTS / m],
    };
    let size = size_of::<T>() as isize;
    for row in (0..m).step_by(rows) {
        for col in (0..n).step_by(cols) {
            let [down, right] = [row as isize * size, col as isize * size];
            let part = Product {
                c: product.c.wrapping_offset(down * product.c_row + right),
                a: product.a.wrapping_offset(down * product.a_strides[0]),
                b: product.b.wrapping_offset(right * product.b_strides[1]),
                m: rows.min(m - row),
                n: cols.min(n - col),
                ..product
            };
            // SAFETY: the factors and the result are parts of the product's.
            unsafe { T::gemm(part) };
        }
    }
}
