//! Reductions, and the normalisations that are made of them.

use tensor::{Fused, Tensor, fuse};

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
    bench.case(place, "reduce/sum_all_16M", reads, || vector.sum())?;
    bench.case(place, "reduce/sum_dim0_4096", reads, || square.sum_dims(&[0], false))?;
    bench.case(place, "reduce/sum_dim1_4096", reads, || square.sum_dims(&[1], false))?;
    bench.case(place, "reduce/argmax_dim1_4096", reads, || square.argmax(1, false))?;

    let rows = place.randn([4096, 1024])?;
    let moves = Metric::Bandwidth { bytes: 2 * F32 * rows.numel() };
    bench.case(place, "reduce/softmax_4096x1024", moves, || rows.softmax(1))?;
    let (weight, bias) = (place.randn([1024])?, place.randn([1024])?);
    let norm = LayerNorm::new();
    bench.case(place, "reduce/layernorm_4096x1024", moves, || norm.call(&rows, &weight, &bias))
}

/// The normalisation of rows to mean 0 and variance 1, times a weight and plus a bias.
struct LayerNorm {
    square: Fused<2>,
    scale: Fused<1>,
    affine: Fused<5>,
}

impl LayerNorm {
    fn new() -> LayerNorm {
        LayerNorm {
            square: fuse(|[x, mean]| (x - mean).square()),
            scale: fuse(|[variance]| (variance + 1e-5).rsqrt()),
            affine: fuse(|[x, mean, scale, weight, bias]| (x - mean) * scale * weight + bias),
        }
    }

    fn call(&self, x: &Tensor, weight: &Tensor, bias: &Tensor) -> tensor::Result<Tensor> {
        let mean = x.mean_dims(&[-1], true)?;
        let variance = self.square.call((x, &mean))?.mean_dims(&[-1], true)?;
        let scale = self.scale.call(&variance)?;
        self.affine.call((x, &mean, &scale, weight, bias))
    }
}
