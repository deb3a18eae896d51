//! The loops that kernels are compared with: the same in plain Rust, on one thread.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::launches::{EDGE, NUMEL, WALKING_THREADS, WARP, multiply};

/// A computation.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlainLoop {
    Add,
    Saxpy,
    /// In the order in which blocks that walk over the elements, one block and one warp after the
    /// other, come to them.
    SaxpyByWarps,
    Sum,
    Matmul,
}

impl PlainLoop {
    /// A function that makes so many calls, and says how long they took. All write into memory that
    /// was used before.
    pub(super) fn prepare(self) -> Box<dyn FnMut(u32) -> Duration> {
        match self {
            PlainLoop::Add => {
                let (x, y, mut sum) = (vec![1.5f32; NUMEL], vec![0.5f32; NUMEL], vec![0.0; NUMEL]);
                timed(move || {
                    add(black_box(&x), black_box(&y), &mut sum);
                    black_box(&sum);
                })
            }
            PlainLoop::Saxpy => timed_saxpy(saxpy),
            PlainLoop::SaxpyByWarps => timed_saxpy(saxpy_by_warps),
            PlainLoop::Sum => {
                let x = vec![1.0f32; NUMEL];
                timed(move || {
                    black_box(sum(black_box(&x)));
                })
            }
            PlainLoop::Matmul => {
                let (a, b) = (vec![1.5f32; EDGE * EDGE], vec![0.5f32; EDGE * EDGE]);
                let mut c = vec![0.0; EDGE * EDGE];
                timed(move || {
                    multiply(black_box(&a), black_box(&b), &mut c);
                    black_box(&c);
                })
            }
        }
    }
}

fn timed_saxpy(saxpy: fn(f32, &[f32], &mut [f32])) -> Box<dyn FnMut(u32) -> Duration> {
    let (x, mut y) = (vec![1.5f32; NUMEL], vec![0.5f32; NUMEL]);
    timed(move || {
        saxpy(black_box(1e-9), black_box(&x), &mut y);
        black_box(&y);
    })
}

fn timed(mut work: impl FnMut() + 'static) -> Box<dyn FnMut(u32) -> Duration> {
    Box::new(move |calls| {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        start.elapsed()
    })
}

#[inline(never)]
fn add(x: &[f32], y: &[f32], sum: &mut [f32]) {
    for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
        *sum = x + y;
    }
}

#[inline(never)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

#[inline(never)]
fn saxpy_by_warps(a: f32, x: &[f32], y: &mut [f32]) {
    for warp in (0..WALKING_THREADS).step_by(WARP) {
        for start in (warp..y.len()).step_by(WALKING_THREADS) {
            let part = start..start + WARP;
            for (y, x) in y[part.clone()].iter_mut().zip(&x[part]) {
                *y += a * x;
            }
        }
    }
}

/// In as many partial sums as keep vector units busy: a sum in order is one long chain.
#[inline(never)]
fn sum(x: &[f32]) -> f32 {
    let mut partial = [0.0; 32];
    let (chunks, rest) = x.as_chunks::<32>();
    for chunk in chunks {
        for (partial, x) in partial.iter_mut().zip(chunk) {
            *partial += x;
        }
    }
    partial.iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_rust_computes_what_the_kernels_do() {
        let x: Vec<f32> = (0..100).map(|index| index as f32).collect();
        let mut y = vec![1.0; 100];
        saxpy(2.0, &x, &mut y);
        assert_eq!((y[0], y[7]), (1.0, 15.0));
        let mut both = vec![0.0; 100];
        add(&x, &y, &mut both);
        assert_eq!(both[7], 22.0);
        assert_eq!(sum(&x), 4950.0);
    }

    #[test]
    fn a_warp_after_the_other_comes_to_each_element_once() {
        let x: Vec<f32> = (0..3 * WALKING_THREADS).map(|index| index as f32).collect();
        let mut y = vec![1.0; x.len()];
        saxpy_by_warps(2.0, &x, &mut y);
        assert!(y.iter().zip(&x).all(|(y, x)| *y == 1.0 + 2.0 * x));
    }

    #[test]
    fn a_product_of_matrices_is_by_rows_and_columns() {
        let mut a = vec![0.0; EDGE * EDGE];
        let mut b = vec![0.0; EDGE * EDGE];
        (a[3], b[3 * EDGE + 5]) = (2.0, 7.0);
        let mut c = vec![1.0; EDGE * EDGE];
        multiply(&a, &b, &mut c);
        assert_eq!((c[5], c[6], c[EDGE + 5]), (14.0, 0.0, 0.0));
    }
}
