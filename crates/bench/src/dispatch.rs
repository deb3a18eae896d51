//! The cost of an operation that has next to nothing to compute.

use tensor::Tensor;

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric::Nanoseconds;
use crate::place::BenchTarget;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let (a, b, matrix) = (place.randn([8])?, place.randn([8])?, place.randn([64, 64])?);
    let device = place.device();
    bench.case(place, "dispatch/add8", Nanoseconds, || &a + &b)?;
    bench.case(place, "dispatch/empty_1024B", Nanoseconds, || Tensor::empty([256], device))?;
    bench.case(place, "dispatch/zeros_1024B", Nanoseconds, || Tensor::zeros([256], device))?;
    bench.case(place, "dispatch/transpose", Nanoseconds, || matrix.transpose(0, 1))?;
    bench.case(place, "dispatch/narrow", Nanoseconds, || matrix.narrow(0, 8, 16))?;

    let leaf = place.randn([8])?.requires_grad_(true)?;
    bench.case(place, "dispatch/add8_recorded", Nanoseconds, || &leaf + &b)?;
    bench.case(place, "dispatch/chain10_fwdbwd", Nanoseconds, || chain(&leaf, &b))
}

/// Ten products, their sum, and the gradient.
fn chain(leaf: &Tensor, factor: &Tensor) -> tensor::Result<()> {
    let product = (0..10).try_fold(leaf.clone(), |product, _| &product * factor)?;
    product.sum(())?.backward()?;
    leaf.clear_grad();
    Ok(())
}
