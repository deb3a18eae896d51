//! Matrix products.

use tensor::DType;

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    for n in [64, 256, 1024, 2048] {
        let (x, y) = (place.randn([n, n])?, place.randn([n, n])?);
        bench.case(place, &format!("matmul/f32_{n}"), products(1, n), || x.matmul(&y))?;
    }
    let (x, y) = (place.randn([1024, 1024])?, place.randn([1024, 1024])?);
    let large = products(1, 1024);
    bench.case(place, "matmul/f32_nt_1024", large, || x.matmul(&y.t()?))?;
    bench.case(place, "matmul/f32_tn_1024", large, || x.t()?.matmul(&y))?;
    let (h, k) = (x.to(DType::BF16)?, y.to(DType::BF16)?);
    bench.case(place, "matmul/bf16_1024", large, || h.matmul(&k))?;

    let (p, q) = (place.randn([64, 128, 128])?, place.randn([64, 128, 128])?);
    bench.case(place, "matmul/batched_64x128", products(64, 128), || p.matmul(&q))
}

/// The operations of so many products of square matrices.
fn products(count: u32, n: usize) -> Metric {
    Metric::Arithmetic { operations: f64::from(count) * 2.0 * (n as f64).powi(3) }
}
