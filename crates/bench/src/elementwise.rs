//! Elementwise operations, in cache and beyond it.

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

const SIZES: [(&str, usize); 2] = [("1M", 1 << 20), ("16M", 1 << 24)];

/// Bytes of an element.
const F32: usize = size_of::<f32>();

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    for (size, numel) in SIZES {
        of_size(bench, place, size, numel)?;
    }
    Ok(())
}

fn of_size(bench: &mut Bench, place: &BenchTarget, size: &str, numel: usize) -> Result<()> {
    let name = |operation: &str| format!("ew/{operation}_{size}");
    let moves = |elements: usize| Metric::Bandwidth { bytes: elements * F32 * numel };
    let cases = ["add", "muladd", "exp", "relu", "gelu_erf", "gelu_tanh", "add_inplace"];
    if !cases.iter().any(|case| bench.wants(&name(case))) {
        return Ok(());
    }
    let (x, y, z) = (place.randn([numel])?, place.randn([numel])?, place.randn([numel])?);
    bench.case(place, &name("add"), moves(3), || &x + &y)?;
    bench.case(place, &name("muladd"), moves(4), || &(&x * &y)? + &z)?;
    bench.case(place, &name("exp"), moves(2), || x.exp())?;
    bench.case(place, &name("relu"), moves(2), || x.relu())?;
    bench.case(place, &name("gelu_erf"), moves(2), || x.gelu())?;
    bench.case(place, &name("gelu_tanh"), moves(2), || x.gelu_tanh())?;
    bench.case(place, &name("add_inplace"), moves(3), || y.add_(&x))
}
