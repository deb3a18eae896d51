//! Reductions, and the normalisations that are made of them.

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

const F32: usize = size_of::<f32>();
/// Elements that the reductions read.
const NUMEL: usize = 1 << 24;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let reads = Metric::Bandwidth { bytes: F32 * NUMEL };
    let (vector, square) = (place.randn([NUMEL])?, place.randn([4096, 4096])?);
    bench.case(place, "reduce/sum_all_16M", reads, || vector.sum(()))?;
    bench.case(place, "reduce/sum_dim0_4096", reads, || square.sum(0))?;
    bench.case(place, "reduce/sum_dim1_4096", reads, || square.sum(1))?;
    bench.case(place, "reduce/argmax_dim1_4096", reads, || square.argmax(1))?;

    let rows = place.randn([4096, 1024])?;
    let moves = Metric::Bandwidth { bytes: 2 * F32 * rows.numel() };
    bench.case(place, "reduce/softmax_4096x1024", moves, || rows.softmax(1))?;
    let (weight, bias) = (place.randn([1024])?, place.randn([1024])?);
    bench.case(place, "reduce/layernorm_4096x1024", moves, || {
        rows.layer_norm(&[1024], Some(&weight), Some(&bias), 1e-5)
    })
}
