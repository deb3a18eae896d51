//! Optimizers: they change parameters by their gradients (`torch.optim`).
//!
//! An optimizer is given parameters in the order of [`Module::parameters`](crate::Module), or any
//! other. Frozen ones, and those that got no gradient, are left alone. Its state is saved and
//! loaded under PyTorch's names ([`Optimizer::state_dict`]). Each step changes a parameter and what is
//! remembered of it in one pass over memory; those of [`Muon`], [`Adafactor`] and [`LBFGS`], which are
//! no elementwise ones, take several.
//!
//! # Groups
//! Parameters in groups have options of their own: `SGD::new(body, 0.01).param_group(head).lr(0.1)`
//! trains the head with ten times the rate ([`SGDBuilder::param_group`]). An
//! [`LRScheduler`](lr_scheduler::LRScheduler) changes the rate of each.
//!
//! # Parameters that move
//! An optimizer follows its parameters: where a module was moved by [`Module::to`](crate::Module::to)
//! since, the next step changes the parameters that took the place of those it was given, and moves
//! its own state to their device and dtype. It does so for a parameter as soon as nobody else has the
//! old one, or gradients arrive at the new one. So a clone of a module, which shares the parameters,
//! may be moved away and does not take the optimizer along.
//!
//! ```
//! use nn::optim::{Optimizer, SGD};
//! use nn::{Forward, Linear, Module};
//! use tensor::{DType, Tensor};
//!
//! let mut layer = Linear::new(3, 2)?;
//! let mut optimizer = SGD::new(layer.parameters(), 0.1).momentum(0.9).build()?;
//! layer.to(DType::F64)?;
//! layer.forward(&Tensor::ones([1, 3], DType::F64)?)?.sum(())?.backward()?;
//! let before = layer.weight().to_vec::<f64>()?;
//! optimizer.step()?;
//! assert!(layer.weight().to_vec::<f64>()?.iter().zip(before).all(|(now, then)| *now < then));
//! # Ok::<(), tensor::Error>(())
//! ```

mod adadelta;
mod adafactor;
mod adagrad;
mod adam;
mod adamax;
mod adamw;
mod asgd;
mod define;
mod gradient;
mod groups;
mod lbfgs;
pub mod lr_scheduler;
mod muon;
mod nadam;
mod one_pass;
mod options;
mod parameters;
mod radam;
mod rmsprop;
mod rprop;
mod rule;
mod saved;
mod sgd;

use tensor::Tensor;

use crate::Result;
use crate::state::{StateDict, StateError};

use self::groups::no_momentum;

pub use adadelta::{Adadelta, AdadeltaBuilder};
pub use adafactor::{Adafactor, AdafactorBuilder};
pub use adagrad::{Adagrad, AdagradBuilder};
pub use adam::{Adam, AdamBuilder};
pub use adamax::{Adamax, AdamaxBuilder};
pub use adamw::{AdamW, AdamWBuilder};
pub use asgd::{ASGD, ASGDBuilder};
pub use lbfgs::{LBFGS, LBFGSBuilder, LineSearch};
pub use muon::{LrAdjustment, Muon, MuonBuilder};
pub use nadam::{NAdam, NAdamBuilder};
pub use radam::{RAdam, RAdamBuilder};
pub use rmsprop::{RMSprop, RMSpropBuilder};
pub use rprop::{Rprop, RpropBuilder};
pub use sgd::{SGD, SGDBuilder};

/// An optimizer, which changes parameters by their gradients.
///
/// The work is enqueued on the current stream of each parameter's device, and nothing is waited
/// for.
///
/// ```
/// use nn::optim::{Adam, Optimizer};
/// use nn::{Forward, Linear, Module};
/// use tensor::Tensor;
///
/// let layer = Linear::new(3, 2)?;
/// let mut optimizer = Adam::new(layer.parameters(), 0.1).build()?;
/// let x = Tensor::ones([1, 3], ())?;
/// for epoch in 0..3 {
///     optimizer.set_learning_rate(0.1 / (1.0 + f64::from(epoch)));
///     let loss = layer.forward(&x)?.square()?.sum(())?;
///     optimizer.zero_grad();
///     loss.backward()?;
///     optimizer.step()?;
/// }
///
/// // Saved, and taken over by another one, which makes the same steps from here on.
/// let saved = (layer.state_dict(), optimizer.state_dict()?);
/// let mut copy = Linear::new(3, 2)?;
/// let mut resumed = Adam::new(copy.parameters(), 0.5).build()?;
/// copy.load_state_dict(&saved.0)?;
/// resumed.load_state_dict(&saved.1)?;
/// assert_eq!(resumed.learning_rate(), optimizer.learning_rate());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Optimizer {
    /// Changes every parameter that has a gradient, the last ones first: a backward pass has their
    /// gradients first.
    ///
    /// # Errors
    /// A gradient does not fit its parameter, or memory is short: parameters behind the one that
    /// failed are then changed already.
    fn step(&mut self) -> Result<()>;

    /// The parameters, in the order they were given in; of one that was moved, the one that took
    /// its place.
    fn parameters(&self) -> Vec<Tensor>;

    /// Clears the gradients.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(Tensor::clear_grad);
    }

    /// The learning rate; that of the first group, if there are several.
    fn learning_rate(&self) -> f64 {
        self.learning_rates().first().copied().unwrap_or_default()
    }

    /// The learning rate of each group of parameters.
    fn learning_rates(&self) -> Vec<f64>;

    /// Sets the learning rate of all groups for the steps to come.
    fn set_learning_rate(&mut self, rate: f64);

    /// Sets the learning rate of each group for the steps to come.
    ///
    /// # Errors
    /// There are not as many rates as groups.
    fn set_learning_rates(&mut self, rates: &[f64]) -> Result<()>;

    /// The momentum of each group of parameters, or the share of the running mean of gradients that
    /// is kept (`betas[0]`); none if the optimizer has neither.
    fn momenta(&self) -> Option<Vec<f64>> {
        None
    }

    /// Sets the momentum of all groups for the steps to come.
    ///
    /// # Errors
    /// The optimizer has none, was built without it, or it is out of its range.
    fn set_momentum(&mut self, momentum: f64) -> Result<()> {
        Err(no_momentum("set_momentum", momentum))
    }

    /// The optimizer's state by PyTorch's names: `state.0.exp_avg`, where 0 is the number of the
    /// parameter, and `param_groups.0.lr`, where 0 is that of the group. The tensors share memory with the optimizer's own;
    /// numbers are tensors without dimensions.
    ///
    /// # Errors
    /// Memory is short.
    fn state_dict(&self) -> Result<StateDict>;

    /// Takes over the state of an optimizer of the same kind for parameters of the same shapes, its
    /// hyperparameters too; the steps to come are then those that the other would make, bit for
    /// bit.
    ///
    /// # Errors
    /// A name is missing, one is unknown, a shape differs, or a hyperparameter is out of its range;
    /// the error names all of them, and nothing is changed.
    fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError>;
}
