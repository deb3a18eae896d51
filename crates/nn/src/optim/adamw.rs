//! The optimizer AdamW.

use super::adam::{AdamOptions, AdamRule};
use super::define::optimizer;

optimizer! {
    /// Adam with decoupled weight decay (`torch.optim.AdamW`): Loshchilov & Hutter, "Decoupled Weight
    /// Decay Regularization" (2019), Algorithm 2. The decay takes a share of the parameter,
    /// `p = p - lr * weight_decay * p`, and is no part of the gradient whose means are kept.
    ///
    /// ```
    /// use nn::optim::{AdamW, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = AdamW::new([&weight], 0.1).weight_decay(0.5).build()?;
    /// (&weight * 0.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert_eq!(weight.to_vec::<f32>()?, [0.95, 1.9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    AdamW, built by AdamWBuilder, with AdamWOptions, by the rule AdamRule<AdamWOptions, true>;
    lr = 1e-3;
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step; 0.9 and 0.999 by default.
    numbers betas(mean, square) = [0.9, 0.999], in SHARE;
    /// Sets the number that is added to the denominator; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the share of the parameter, times the learning rate, that each step takes off; 0.01 by
    /// default.
    number weight_decay = 1e-2, in NOT_NEGATIVE;
    /// Divides by the largest running mean of squares so far, as Adam's option of this name.
    flag amsgrad = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

impl From<AdamWOptions> for AdamOptions {
    fn from(options: AdamWOptions) -> AdamOptions {
        let AdamWOptions { lr, betas, eps, weight_decay, amsgrad, maximize } = options;
        AdamOptions { lr, betas, eps, weight_decay, amsgrad, maximize }
    }
}
