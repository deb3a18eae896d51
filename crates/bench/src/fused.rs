//! Fused elementwise functions, beside the same operations one by one, and how long they take to
//! compile.

use std::time::{Duration, Instant};

use tensor::{Tensor, fuse};

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

/// Bytes of an element.
const F32: usize = size_of::<f32>();

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    if bench.wants_any(&["fused/six_16M", "fused/six_unfused_16M"]) {
        six(bench, place)?;
    }
    if bench.wants_any(&["fused/six_of_two_16M", "fused/six_of_two_unfused_16M"]) {
        six_of_two(bench, place)?;
    }
    first_calls(bench, place)
}

/// Six operations without elementary functions on three tensors. The bytes are those that one pass
/// moves, in both cases.
fn six(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let numel = 1 << 24;
    let (x, y, z) = (place.randn([numel])?, place.randn([numel])?, place.randn([numel])?);
    let metric = Metric::Bandwidth { bytes: 4 * F32 * numel };
    let fused = fuse(|[x, y, z]| ((x * y + z) * 0.5 - y).abs() * x);
    let unfused =
        || -> tensor::Result<Tensor> { &(&(&(&(&x * &y)? + &z)? * 0.5)? - &y)?.abs()? * &x };
    bench.case(place, "fused/six_16M", metric, || fused.call((&x, &y, &z)))?;
    bench.case(place, "fused/six_unfused_16M", metric, unfused)
}

/// Six operations on two tensors: one pass moves less than in [`six`], and one by one they move as
/// much.
fn six_of_two(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let numel = 1 << 24;
    let (x, y) = (place.randn([numel])?, place.randn([numel])?);
    let metric = Metric::Bandwidth { bytes: 3 * F32 * numel };
    let fused = fuse(|[x, y]| ((x * y + x) * 0.5 - y).abs() * x);
    let unfused =
        || -> tensor::Result<Tensor> { &(&(&(&(&x * &y)? + &x)? * 0.5)? - &y)?.abs()? * &x };
    bench.case(place, "fused/six_of_two_16M", metric, || fused.call((&x, &y)))?;
    bench.case(place, "fused/six_of_two_unfused_16M", metric, unfused)
}

/// The first call of a function, which traces and compiles it: each call has one of its own, which
/// differs in a constant.
fn first_calls(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let (x, y, z) = (place.randn([8])?, place.randn([8])?, place.randn([8])?);
    let mut constant = 0.5_f64;
    bench.timed("fused/first_call", Metric::Nanoseconds, |calls| {
        let mut taken = Duration::ZERO;
        for _ in 0..calls {
            constant += 1e-6;
            let number = constant;
            let start = Instant::now();
            let function = fuse(move |[x, y, z]| ((x * y + z) * number - y).abs() * x);
            function.call((&x, &y, &z))?;
            place.finish()?;
            taken += start.elapsed();
        }
        Ok(taken)
    })
}
