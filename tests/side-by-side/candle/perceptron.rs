//! A perceptron is trained, with candle.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{AdamW, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss, seq};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let x = Tensor::randn(0f32, 1.0, (256, 784), &device)?;
    let y = Tensor::rand(0f32, 10.0, 256, &device)?.to_dtype(DType::U32)?;
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, &device);
    let first = linear(784, 512, vb.pp("0"))?;
    let model = seq().add(first).add_fn(|x| x.relu()).add(linear(512, 10, vb.pp("2"))?);
    let params = ParamsAdamW { lr: 1e-3, weight_decay: 0.0, ..Default::default() };
    let mut optimizer = AdamW::new(map.all_vars(), params)?;
    for _ in 0..3 {
        for start in (0..256).step_by(64) {
            let (x, y) = (x.narrow(0, start, 64)?, y.narrow(0, start, 64)?);
            let loss = loss::cross_entropy(&model.forward(&x)?, &y)?;
            optimizer.backward_step(&loss)?;
        }
    }
    Ok(())
}
