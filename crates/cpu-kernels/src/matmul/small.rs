//! Small products of `f32`, summed in `f64`.
//!
//! A product of two `f32` is exact in `f64`, so each element is rounded once. That costs nothing
//! where a product is so small that most of its time goes into beginning it, and spares what comes
//! after, such as the quotient of two of its elements, an error that grows with what cancels.

use super::product::Product;

/// The most multiplications.
const MAX_MULTIPLICATIONS: usize = 256;

/// Elements of a row of the result that are summed at a time.
const WIDTH: usize = 8;

/// Whether a product is small.
pub(super) fn is_small(product: &Product) -> bool {
    product.m.saturating_mul(product.n).saturating_mul(product.k) <= MAX_MULTIPLICATIONS
}

/// Multiplies in the calling thread.
///
/// # Safety
/// The factors are valid for reads and the result for reads and writes with the product's sizes and
/// strides, as elements of `f32`.
pub(super) unsafe fn multiply_small(product: Product) {
    let Product { m, n, k, c_row, a_strides, b_strides, .. } = product;
    let (a, b) = (product.a.cast::<f32>(), product.b.cast::<f32>());
    let c = product.c.cast::<f32>();
    for row in 0..m {
        for col in (0..n).step_by(WIDTH) {
            let width = WIDTH.min(n - col);
            let line = c.wrapping_offset(row as isize * c_row + col as isize);
            let mut sums = [0.0; WIDTH];
            // SAFETY: rows, columns and summed elements are below the product's sizes, with which
            // the operands are valid (a condition of this function).
            unsafe {
                if product.accumulate {
                    for (lane, sum) in sums[..width].iter_mut().enumerate() {
                        *sum = f64::from(line.add(lane).read());
                    }
                }
                for deep in 0..k as isize {
                    let left = a.offset(row as isize * a_strides[0] + deep * a_strides[1]).read();
                    let right = b.offset(deep * b_strides[0] + col as isize * b_strides[1]);
                    for (lane, sum) in sums[..width].iter_mut().enumerate() {
                        let right = right.offset(lane as isize * b_strides[1]).read();
                        *sum += f64::from(left) * f64::from(right);
                    }
                }
                for (lane, sum) in sums[..width].iter().enumerate() {
                    line.add(lane).write(*sum as f32);
                }
            }
        }
    }
}
