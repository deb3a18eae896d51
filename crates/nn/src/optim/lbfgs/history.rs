//! What L-BFGS knows of the curvature of the loss.

use std::collections::VecDeque;

use tensor::{Tensor, no_grad};

use super::dot;
use crate::Result;

/// The smallest product of a step and the gradient's change along it that says something.
const MIN_CURVATURE: f64 = 1e-10;

/// The last iteration.
pub(super) struct Descent {
    /// The direction in which the parameters were moved.
    pub(super) direction: Tensor,
    /// The length of the step, in directions.
    pub(super) length: f64,
    /// The gradient from which it began.
    pub(super) gradient: Tensor,
    pub(super) history: CurvatureHistory,
}

/// Steps of earlier iterations, and how the gradient changed along each.
pub(super) struct CurvatureHistory {
    pub(super) pairs: VecDeque<CurvaturePair>,
    /// The scale of the inverse Hessian that the recursion begins with.
    pub(super) scale: f64,
}

pub(super) struct CurvaturePair {
    pub(super) step: Tensor,
    /// The difference of the gradients behind the step and before it.
    pub(super) change: Tensor,
    /// 1 over the product of the two.
    pub(super) inverse_product: f64,
}

impl CurvatureHistory {
    pub(super) fn new() -> CurvatureHistory {
        CurvatureHistory { pairs: VecDeque::new(), scale: 1.0 }
    }

    /// Remembers a step, and forgets the oldest where there would be more than `size`.
    pub(super) fn update(&mut self, change: Tensor, step: Tensor, size: usize) -> Result<()> {
        let product = dot(&change, &step)?;
        if product <= MIN_CURVATURE || product.is_nan() {
            return Ok(());
        }
        if self.pairs.len() >= size.max(1) {
            self.pairs.pop_front();
        }
        self.scale = product / dot(&change, &change)?;
        self.pairs.push_back(CurvaturePair { step, change, inverse_product: 1.0 / product });
        Ok(())
    }

    /// The gradient downhill times the inverse Hessian: Nocedal & Wright, Algorithm 7.4.
    pub(super) fn direction(&self, gradient: &Tensor) -> Result<Tensor> {
        no_grad(|| {
            let direction = gradient.neg()?;
            let mut shares = Vec::new();
            for pair in self.pairs.iter().rev() {
                let share = dot(&pair.step, &direction)? * pair.inverse_product;
                direction.add_scaled_(&pair.change, -share)?;
                shares.push(share);
            }
            direction.mul_(self.scale)?;
            for (pair, share) in self.pairs.iter().zip(shares.iter().rev()) {
                let back = dot(&pair.change, &direction)? * pair.inverse_product;
                direction.add_scaled_(&pair.step, share - back)?;
            }
            Ok(direction)
        })
    }
}
