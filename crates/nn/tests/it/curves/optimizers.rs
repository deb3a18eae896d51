//! The optimizers of `curves.py`.

use nn::Result;
use nn::optim::{
    ASGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, LBFGS, LineSearch, Muon, NAdam,
    Optimizer, RAdam, RMSprop, Rprop, SGD,
};
use tensor::Tensor;

/// An optimizer, and whether it evaluates the loss itself.
pub(super) enum AnyOptimizer {
    /// One that is given gradients.
    Once(Box<dyn Optimizer>),
    /// One that evaluates the loss several times, and trains with all batches at once.
    Often(LBFGS),
}

impl AnyOptimizer {
    /// Makes a step, and gives the loss before it.
    pub(super) fn step(&mut self, mut loss: impl FnMut() -> Result<Tensor>) -> Result<Tensor> {
        match self {
            AnyOptimizer::Often(lbfgs) => lbfgs.step(loss),
            AnyOptimizer::Once(optimizer) => {
                let loss = loss()?;
                optimizer.step()?;
                Ok(loss)
            }
        }
    }
}

pub(super) type BuildOptimizer = fn(&[Tensor]) -> Result<AnyOptimizer>;

fn once(optimizer: impl Optimizer + 'static) -> Result<AnyOptimizer> {
    Ok(AnyOptimizer::Once(Box::new(optimizer)))
}

/// The optimizers by the script's names.
pub(super) const OPTIMIZERS: [(&str, BuildOptimizer); 19] = [
    ("SGD", |p| once(SGD::new(p, 0.1).build()?)),
    ("SGD momentum", |p| once(SGD::new(p, 0.05).momentum(0.9).weight_decay(1e-3).build()?)),
    ("SGD nesterov", |p| once(SGD::new(p, 0.05).momentum(0.9).nesterov().build()?)),
    ("Adam", |p| once(Adam::new(p, 3e-3).build()?)),
    ("Adam amsgrad", |p| once(Adam::new(p, 3e-3).weight_decay(1e-3).amsgrad().build()?)),
    ("AdamW", |p| once(AdamW::new(p, 3e-3).build()?)),
    ("RMSprop", |p| once(RMSprop::new(p, 1e-3).build()?)),
    ("RMSprop momentum", |p| once(RMSprop::new(p, 3e-4).momentum(0.9).centered().build()?)),
    ("Adagrad", |p| once(Adagrad::new(p, 0.01).build()?)),
    ("Adadelta", |p| once(Adadelta::new(p, 1.0).build()?)),
    ("Adamax", |p| once(Adamax::new(p, 3e-3).build()?)),
    ("NAdam", |p| once(NAdam::new(p, 3e-3).build()?)),
    ("RAdam", |p| once(RAdam::new(p, 3e-3).build()?)),
    ("ASGD", |p| once(ASGD::new(p, 0.1).t0(10.0).build()?)),
    ("Rprop", |p| once(Rprop::new(p, 1e-3).build()?)),
    ("Adafactor", |p| once(Adafactor::new(p, 0.01).build()?)),
    ("Muon", |p| once(Muon::new(p.iter().filter(|one| one.dims() == 2), 3e-3).build()?)),
    ("LBFGS", |p| {
        Ok(AnyOptimizer::Often(LBFGS::new(p, 0.2).max_iter(1).history_size(10).build()?))
    }),
    ("LBFGS strong_wolfe", |p| {
        let lbfgs = LBFGS::new(p, 1.0).max_iter(2).history_size(10);
        Ok(AnyOptimizer::Often(lbfgs.line_search(LineSearch::StrongWolfe).build()?))
    }),
];
