//! The optimizer Adam.

use tensor::{FusedMany, Tensor, fuse_many, no_grad};

use super::{Optimizer, check_not_left, check_not_negative, check_parameters, with_decay};
use crate::Result;

/// Adam: Kingma & Ba, "Adam: A Method for Stochastic Optimization" (2015), Algorithm 1, with the
/// bias corrections where PyTorch has them (`torch.optim.Adam`):
///
/// ```text
/// g = grad + weight_decay * p
/// m = beta1 * m + (1 - beta1) * g
/// v = beta2 * v + (1 - beta2) * g²
/// p = p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// ```
pub struct Adam {
    parameters: Vec<Tensor>,
    moments: Vec<Option<Moments>>,
    options: Options,
    pass: FusedMany<7, 3>,
}

struct Moments {
    steps: i32,
    mean: Tensor,
    square: Tensor,
}

#[derive(Clone, Copy)]
struct Options {
    lr: f64,
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
}

/// A builder of [`Adam`].
#[must_use = "call `build`"]
pub struct AdamBuilder {
    parameters: Vec<Tensor>,
    options: Options,
}

impl Adam {
    /// A builder with the learning rate `lr` and PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8,
    /// no weight decay.
    #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> AdamBuilder {
        let options = Options { lr, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0 };
        AdamBuilder { parameters, options }
    }
}

impl Adam {
    /// Changes a parameter and its moments, in one pass.
    fn update(&mut self, index: usize, gradient: &Tensor) -> Result<()> {
        let Options { lr, betas: (beta1, beta2), weight_decay, .. } = self.options;
        let (parameter, slot) = (&self.parameters[index], &mut self.moments[index]);
        let moments = match slot {
            Some(moments) => moments,
            None => slot.insert(Moments {
                steps: 0,
                mean: parameter.zeros_like()?,
                square: parameter.zeros_like()?,
            }),
        };
        let steps = moments.steps + 1;
        let rate = lr / (1.0 - beta1.powi(steps));
        let correction = (1.0 - beta2.powi(steps)).sqrt();
        let (mean, square) = (&moments.mean, &moments.square);
        let operands = (parameter, gradient, mean, square, rate, correction, weight_decay);
        self.pass.call_into([parameter, mean, square], operands)?;
        moments.steps = steps;
        Ok(())
    }
}

/// The step of parameter, gradient, the two moments, the learning rate and the square root, both
/// with their bias corrections, and the weight decay; parameter and moments.
fn step_in_one_pass(options: Options) -> FusedMany<7, 3> {
    let Options { betas: (beta1, beta2), eps, weight_decay, .. } = options;
    fuse_many(move |[parameter, gradient, mean, square, rate, correction, decay]| {
        let gradient = with_decay(gradient, parameter, decay, weight_decay);
        let mean = mean * beta1 + gradient * (1.0 - beta1);
        let square = square * beta2 + gradient * gradient * (1.0 - beta2);
        let denominator = square.sqrt() / correction + eps;
        [parameter - mean / denominator * rate, mean, square]
    })
    .named("adam")
}

impl Optimizer for Adam {
    fn step(&mut self) -> Result<()> {
        check_not_left("Adam::step", &self.parameters)?;
        no_grad(|| {
            for index in 0..self.parameters.len() {
                let Some(gradient) = self.parameters[index].grad() else { continue };
                self.update(index, &gradient)?;
            }
            Ok(())
        })
    }

    fn parameters(&self) -> &[Tensor] {
        &self.parameters
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.options.lr = rate;
    }
}

impl AdamBuilder {
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step.
    pub fn betas(mut self, mean: f64, square: f64) -> Self {
        self.options.betas = (mean, square);
        self
    }

    /// Sets the number that is added to the denominator.
    pub fn eps(mut self, eps: f64) -> Self {
        self.options.eps = eps;
        self
    }

    /// Sets the factor of the L2 penalty.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.options.weight_decay = weight_decay;
        self
    }

    /// Builds the optimizer.
    ///
    /// # Errors
    /// A parameter is no leaf that requires a gradient, or an option is out of its range.
    pub fn build(self) -> Result<Adam> {
        const OP: &str = "Adam";
        let AdamBuilder { parameters, options } = self;
        check_parameters(OP, &parameters)?;
        check_not_negative(OP, "lr", options.lr)?;
        check_not_negative(OP, "eps", options.eps)?;
        check_not_negative(OP, "weight_decay", options.weight_decay)?;
        for (argument, beta) in [("betas.0", options.betas.0), ("betas.1", options.betas.1)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(tensor::Error::InvalidArgument {
                    op: OP,
                    argument,
                    value: beta.to_string(),
                    why: "it must be at least 0 and below 1",
                });
            }
        }
        let moments = parameters.iter().map(|_| None).collect();
        Ok(Adam { parameters, moments, options, pass: step_in_one_pass(options) })
    }
}
