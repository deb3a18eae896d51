//! Convolutions, which the library does not have: the cases are reported as missing.

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

/// Images, channels in and out, and height or width, of each layer.
const LAYERS: [[usize; 4]; 2] = [[32, 3, 32, 32], [32, 64, 64, 16]];
/// Weights of each pair of channels.
const KERNEL: usize = 3 * 3;

pub(crate) fn run(bench: &mut Bench, _place: &BenchTarget) -> Result<()> {
    for [images, from, to, size] in LAYERS {
        let forward = 2.0 * (images * from * to * size * size * KERNEL) as f64;
        for (part, times) in [("fwd", 1.0), ("fwdbwd", 3.0)] {
            let metric = Metric::Arithmetic { operations: times * forward };
            bench.missing(&format!("conv/{from}to{to}_{size}px_{part}"), metric)?;
        }
    }
    Ok(())
}
