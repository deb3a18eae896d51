//! A module whose parameters are averages (`torch.optim.swa_utils`).

use tensor::{DType, Error, Fused, Tensor, fuse, no_grad};

use crate::{Forward, Module, Result};

/// The average of a parameter over the updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Averaging {
    /// The mean of all: Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
    /// Generalization" (2018).
    Mean,
    /// The exponential moving average: each update keeps this share of it, between 0 and 1, and takes
    /// the rest of the parameter.
    Exponential(f64),
}

/// A copy of a module whose parameters are averages of that module's over the updates
/// (`torch.optim.swa_utils.AveragedModel`). Its buffers are those of the module at the last update.
///
/// ```
/// use nn::{AveragedModel, Averaging, Forward, Linear};
/// use nn::optim::{Optimizer, SGD};
/// use nn::Module;
/// use tensor::Tensor;
/// let model = Linear::new(3, 2)?;
/// let mut optimizer = SGD::new(model.parameters(), 0.1).build()?;
/// let mut averaged = AveragedModel::new(&model, Averaging::Exponential(0.99))?;
/// for _ in 0..3 {
///     optimizer.zero_grad();
///     model.forward(&Tensor::ones([1, 3], ())?)?.square()?.sum(())?.backward()?;
///     optimizer.step()?;
///     averaged.update_parameters(&model)?;
/// }
/// assert!(!averaged.module().weight().equal(model.weight())?);
/// averaged.forward(&Tensor::ones([1, 3], ())?)?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Module)]
pub struct AveragedModel<M: Module> {
    module: M,
    #[module(buffer)]
    n_averaged: Tensor,
    #[module(skip)]
    update: Fused<3>,
    #[module(skip)]
    averaging: Averaging,
}

impl<M: Module + Clone> AveragedModel<M> {
    /// A copy of a module, with parameters of its own, of which nothing is an average yet.
    ///
    /// # Errors
    /// The share of an exponential average is not between 0 and 1, or memory is short.
    pub fn new(model: &M, averaging: Averaging) -> Result<AveragedModel<M>> {
        if let Averaging::Exponential(decay) = averaging
            && !(0.0..=1.0).contains(&decay)
        {
            return Err(Error::InvalidArgument {
                op: "AveragedModel",
                argument: "decay",
                value: decay.to_string(),
                why: "it must be between 0 and 1",
            });
        }
        let mut module = model.clone();
        module.replace_tensors(&mut |tensor| {
            tensor.detach().clone_data()?.requires_grad_(tensor.requires_grad())
        })?;
        let n_averaged = Tensor::scalar(0i64, DType::I64)?;
        Ok(AveragedModel { module, n_averaged, update: update(averaging), averaging })
    }
}

impl<M: Module> AveragedModel<M> {
    /// The copy, with the averages.
    pub fn module(&self) -> &M {
        &self.module
    }

    /// The average that it takes.
    pub fn averaging(&self) -> Averaging {
        self.averaging
    }

    /// Adds the parameters of a module to the averages; the first ones are taken as they are. The
    /// module may lie on another device.
    ///
    /// # Errors
    /// The module has other parameters or buffers than that of [`AveragedModel::new`], or memory is
    /// short.
    pub fn update_parameters(&mut self, model: &M) -> Result<()> {
        let (averages, parameters) = (self.module.parameters(), model.parameters());
        let (own_buffers, buffers) = (self.module.buffers(), model.buffers());
        let sizes = |tensors: &[Tensor]| -> Vec<Vec<usize>> {
            tensors.iter().map(|tensor| tensor.shape().to_vec()).collect()
        };
        if sizes(&averages) != sizes(&parameters) || sizes(&own_buffers) != sizes(&buffers) {
            return Err(Error::InvalidArgument {
                op: "AveragedModel::update_parameters",
                argument: "model",
                value: format!("one of {} parameters", parameters.len()),
                why: "it must have parameters and buffers of the same shapes as the averages",
            });
        }
        no_grad(|| {
            for (average, parameter) in averages.iter().zip(&parameters) {
                let parameter = parameter.to((average.dtype(), average.device()))?;
                let count = self.n_averaged.to(average.device())?;
                self.update.call_into(average, (average, &parameter, &count))?;
            }
            for (own, buffer) in own_buffers.iter().zip(&buffers) {
                own.copy_(buffer)?;
            }
            self.n_averaged.add_(1)?;
            Ok(())
        })
    }
}

/// The new average, of the average, the parameter, and the number of updates before: the number is a
/// tensor, so that no device is waited for.
fn update(averaging: Averaging) -> Fused<3> {
    fuse(move |[average, parameter, count]| {
        let count = count.to(average.dtype());
        let weight = match averaging {
            Averaging::Mean => (count + 1.0).reciprocal(),
            Averaging::Exponential(decay) => count.eq(0.0).select(count + 1.0, 1.0 - decay),
        };
        average.lerp(parameter, weight)
    })
    .named("averaged_model")
}

impl<M: Module + Forward<Input>, Input: ?Sized> Forward<Input> for AveragedModel<M> {
    type Output = <M as Forward<Input>>::Output;

    fn forward(&self, input: &Input) -> Result<Self::Output> {
        self.module.forward(input)
    }
}
