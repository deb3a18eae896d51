//! Modules, optimizers, datasets.

use nn::optim::{Adam, AdamBuilder, SGD, SGDBuilder};
use nn::{Dropout, Flatten, Linear, ReLU, Sequential};
use parallel::TensorDataset;
use tensor::Tensor;

use super::Draw;

impl Draw {
    pub(crate) fn linear(&mut self) -> Option<Linear> {
        let (inputs, outputs) = (self.rng.below(4), self.rng.below(4));
        let linear = Linear::new_with(inputs, outputs, self.options()?).ok()?;
        Some(if self.rng.one_in(2) { linear } else { linear.without_bias() })
    }

    pub(crate) fn model(&mut self) -> Option<Sequential> {
        let mut model = Sequential::new();
        for _ in 0..self.rng.below(4) {
            model = match self.rng.below(4) {
                0 => model.push(self.linear()?),
                1 => model.push(ReLU),
                2 => model.push(Flatten),
                _ => model.push(Dropout::new(self.number()?).ok()?),
            };
        }
        Some(model)
    }

    pub(crate) fn adam(&mut self) -> Option<AdamBuilder> {
        Some(Adam::new(self.owned_tensors()?, self.number()?))
    }

    pub(crate) fn sgd(&mut self) -> Option<SGDBuilder> {
        Some(SGD::new(self.owned_tensors()?, self.number()?))
    }

    pub(crate) fn dataset(&mut self) -> Option<TensorDataset<(Tensor, Tensor)>> {
        TensorDataset::new((self.tensor()?, self.tensor()?)).ok()
    }
}
