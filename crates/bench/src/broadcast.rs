//! Operands that are repeated, or do not lie in the order of the result.

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

const F32: usize = size_of::<f32>();
/// Elements of each matrix. What is repeated counts for nothing.
const NUMEL: usize = 1 << 22;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let moves = |matrices: usize| Metric::Bandwidth { bytes: matrices * F32 * NUMEL };

    let (a, row, column) =
        (place.randn([4096, 1024])?, place.randn([1024])?, place.randn([4096, 1])?);
    bench.case(place, "bcast/row_4096x1024", moves(2), || &a + &row)?;
    bench.case(place, "bcast/col_4096x1024", moves(2), || &a + &column)?;

    let (p, q) = (place.randn([2048, 2048])?, place.randn([2048, 2048])?);
    bench.case(place, "bcast/add_transposed_2048", moves(3), || &p + &q.t()?)?;
    bench.case(place, "bcast/contiguous_t_2048", moves(2), || q.t()?.contiguous())
}
