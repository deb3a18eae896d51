//! The optimizer Adafactor.

use tensor::{DType, Fused, Tensor, fuse, keepdim};

use super::define::optimizer;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adafactor: Shazeer & Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost"
    /// (2018), as PyTorch has it (`torch.optim.Adafactor`): of the squares of a matrix's gradient it
    /// remembers the means of the rows and those of the columns only.
    ///
    /// ```
    /// use nn::optim::{Adafactor, Optimizer};
    /// use tensor::Tensor;
    /// let weight = Tensor::ones([100, 50], ())?.requires_grad_(true)?;
    /// let mut optimizer = Adafactor::new([&weight], Adafactor::DEFAULT_LR).build()?;
    /// weight.square()?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert_eq!(optimizer.state_dict()?["state.0.row_var"].shape(), [100, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Adafactor, built by AdafactorBuilder, with Options, by the rule AdafactorRule;
    lr = 1e-2;
    /// Sets the power with which the weight of new squares falls; -0.8 by default.
    number beta2_decay = -0.8, in NOT_POSITIVE;
    hidden_number eps1 = DTYPE_EPSILON, in NOT_NEGATIVE;
    hidden_number eps2 = 1e-3, in NOT_NEGATIVE;
    /// Sets the largest root mean square of an update; 1 by default.
    number d = 1.0, in ONE_OR_MORE;
    /// Sets the share of the parameter, times the learning rate, that each step takes off; 0 by
    /// default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// The number that stands for the distance from 1 to the next number of the parameter's dtype.
const DTYPE_EPSILON: f64 = f64::INFINITY;

impl AdafactorBuilder {
    /// Sets the smallest root of a mean square, by default that of the parameter's dtype
    /// (`torch.finfo(dtype).eps`), and the smallest root mean square of a parameter, 1e-3 by default.
    pub fn eps(mut self, first: impl Into<Option<f64>>, second: f64) -> Self {
        let options = self.groups.options();
        (options.eps1, options.eps2) = (first.into().unwrap_or(DTYPE_EPSILON), second);
        self
    }
}

/// A step, of whose parts two are elementwise: the update of a matrix, and that of a vector.
pub(super) struct AdafactorRule {
    of_matrix: Fused<6>,
    of_vector: Fused<3>,
}

impl UpdateRule for AdafactorRule {
    const NAME: &'static str = "Adafactor";
    type Options = Options;

    fn new(_: &Options) -> Result<AdafactorRule> {
        let of_matrix = fuse(|[rows, columns, row_mean, gradient, eps, eps_squared]| {
            let square = rows * columns / row_mean.maximum(eps);
            square.maximum(eps_squared).rsqrt() * gradient
        });
        let of_vector =
            fuse(|[square, gradient, eps_squared]| square.maximum(eps_squared).rsqrt() * gradient);
        Ok(AdafactorRule {
            of_matrix: of_matrix.named("adafactor"),
            of_vector: of_vector.named("adafactor"),
        })
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        if parameter.dims() < 2 {
            return Memory::zeros(parameter, &["variance"]);
        }
        let mut memory = Memory::default();
        for (name, dim) in [("row_var", parameter.dims() - 1), ("col_var", parameter.dims() - 2)] {
            let mut shape = parameter.shape().to_vec();
            shape[dim] = 1;
            let options = (parameter.dtype(), parameter.device());
            memory.tensors.push((name, Tensor::zeros(shape, options)?));
        }
        Ok(memory)
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, beta2_decay, eps2, d, weight_decay, maximize, .. } = options;
        let number = f64::from(step.number());
        let weight = number.powf(beta2_decay);
        let parameter = step.parameter;
        let size = root_mean_square(parameter)?.clamp_min(eps2)?;
        let rate = size.mul(lr.min(1.0 / number.sqrt()))?;
        if weight_decay != 0.0 {
            parameter.mul_(1.0 - lr * weight_decay)?;
        }
        let gradient = if maximize { step.gradient.neg()? } else { step.gradient.clone() };
        let update = self.update(options, &step, &gradient, weight)?;
        let excess = root_mean_square(&update)?.div(d)?.clamp_min(1.0)?;
        parameter.sub_(&update.mul(&rate.div(&excess)?)?)?;
        Ok(())
    }
}

impl AdafactorRule {
    /// The gradient over the root of its mean square, to which the gradient's own square is added
    /// with this weight.
    fn update(
        &self,
        options: &Options,
        step: &ParameterStep<'_>,
        gradient: &Tensor,
        weight: f64,
    ) -> Result<Tensor> {
        let eps = match options.eps1 {
            DTYPE_EPSILON => epsilon(gradient.dtype()),
            eps => eps,
        };
        match &step.memory.tensors[..] {
            [(_, rows), (_, columns)] => {
                for (means, dim) in [(rows, -1), (columns, -2)] {
                    means.lerp_(&gradient.square()?.mean(keepdim(dim))?, weight)?;
                }
                let row_mean = rows.mean(keepdim(-2))?;
                let eps_squared = eps * eps;
                self.of_matrix.call((rows, columns, &row_mean, gradient, eps, eps_squared))
            }
            [(_, square), ..] => {
                square.lerp_(&gradient.square()?, weight)?;
                self.of_vector.call((square, gradient, eps * eps))
            }
            [] => Ok(gradient.clone()),
        }
    }
}

fn root_mean_square(tensor: &Tensor) -> Result<Tensor> {
    tensor.norm(2, ())?.div((tensor.numel() as f64).sqrt())
}

/// The distance from 1 to the next number of a dtype.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => f64::from(f32::EPSILON),
    }
}
