//! Convolutions of images, with a bias, and their gradients.

use tensor::{ConvOptions, Tensor};

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

/// Images, channels in and out, and height or width, of each layer.
const LAYERS: [[usize; 4]; 2] = [[32, 3, 32, 32], [32, 64, 64, 16]];
/// The side of the kernel, whose padding keeps the sizes.
const SIDE: usize = 3;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    for [images, from, to, size] in LAYERS {
        let leaf = |shape: &[usize]| place.randn(shape)?.requires_grad_(true);
        let x = leaf(&[images, from, size, size])?;
        let (weight, bias) = (leaf(&[to, from, SIDE, SIDE])?, leaf(&[to])?);
        let options = ConvOptions::new().padding(SIDE / 2);
        let convolve = || x.conv2d(&weight, Some(&bias), options);
        let with_gradients = || -> tensor::Result<()> {
            convolve()?.sum(())?.backward()?;
            [&x, &weight, &bias].into_iter().for_each(Tensor::clear_grad);
            Ok(())
        };
        let forward = 2.0 * (images * from * to * size * size * SIDE * SIDE) as f64;
        let name = format!("conv/{from}to{to}_{size}px");

        let metric = Metric::Arithmetic { operations: forward };
        bench.case(place, &format!("{name}_fwd"), metric, || tensor::no_grad(convolve))?;
        let metric = Metric::Arithmetic { operations: 3.0 * forward };
        bench.case(place, &format!("{name}_fwdbwd"), metric, with_gradients)?;
    }
    Ok(())
}
