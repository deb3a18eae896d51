//! The optimizer L-BFGS.

mod history;
mod line_search;
mod state;

use std::borrow::Borrow;

use tensor::{DType, Tensor, no_grad};

use self::history::{CurvatureHistory, Descent};
use self::line_search::{Evaluation, strong_wolfe};
use crate::Result;
use crate::utils::collected;

const OP: &str = "LBFGS";

/// The limited-memory quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno: Nocedal &
/// Wright, "Numerical Optimization" (2006), Algorithm 7.5, as PyTorch has it (`torch.optim.LBFGS`).
///
/// A step evaluates the loss several times, so that it is given as a closure, which clears the
/// gradients, computes the loss, calls `backward`, and gives the loss. All parameters are on one
/// device, of one dtype and in one group. A step reads numbers from the device and waits for it.
///
/// ```
/// use nn::optim::{LBFGS, LineSearch};
/// use tensor::tensor;
/// let x = tensor![-1.5, 2.0]?.requires_grad_(true)?;
/// let mut optimizer = LBFGS::new([&x], 1.0).line_search(LineSearch::StrongWolfe).build()?;
/// for _ in 0..10 {
///     optimizer.step(|| {
///         x.clear_grad();
///         // Rosenbrock's function, with its minimum at (1, 1).
///         let (a, b) = (x.select(0, 0)?, x.select(0, 1)?);
///         let valley = (&b - &a.square()?)?.square()?.mul(100)?;
///         let loss = valley.add(&a.sub(1)?.square()?)?;
///         loss.backward()?;
///         Ok(loss)
///     })?;
/// }
/// assert!(x.to_vec::<f32>()?.iter().all(|x| (x - 1.0).abs() < 1e-3));
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct LBFGS {
    parameters: Vec<Tensor>,
    options: Options,
    descent: Option<Descent>,
    /// The iterations of all steps.
    iterations: u64,
    /// The evaluations of all steps.
    evaluations: u64,
}

/// A builder of [`LBFGS`].
#[must_use = "call `build`"]
pub struct LBFGSBuilder {
    parameters: Vec<Tensor>,
    options: Options,
}

/// The way in which the length of an iteration's step is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSearch {
    /// The learning rate; in the very first iteration less, if the gradient is long.
    None,
    /// A length that fulfils the strong conditions of Wolfe.
    StrongWolfe,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    lr: f64,
    max_iter: u64,
    max_eval: Option<u64>,
    tolerance_grad: f64,
    tolerance_change: f64,
    history_size: usize,
    line_search: LineSearch,
    maximize: bool,
}

impl LBFGS {
    /// PyTorch's default of the learning rate.
    pub const DEFAULT_LR: f64 = 1.0;

    /// A builder with the learning rate `lr`, and PyTorch's defaults of all else.
    #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
    pub fn new(parameters: impl IntoIterator<Item: Borrow<Tensor>>, lr: f64) -> LBFGSBuilder {
        let options = Options {
            lr,
            max_iter: 20,
            max_eval: None,
            tolerance_grad: 1e-7,
            tolerance_change: 1e-9,
            history_size: 100,
            line_search: LineSearch::None,
            maximize: false,
        };
        LBFGSBuilder { parameters: collected(parameters), options }
    }

    /// The parameters, in the order they were given in.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.parameters.clone()
    }

    /// Clears the gradients.
    pub fn zero_grad(&self) {
        self.parameters.iter().for_each(Tensor::clear_grad);
    }

    /// The learning rate.
    pub fn learning_rate(&self) -> f64 {
        self.options.lr
    }

    /// Sets the learning rate for the steps to come.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.options.lr = rate;
    }

    /// Makes a step of up to `max_iter` iterations. The closure clears the gradients, computes the
    /// loss, calls `backward`, and gives the loss; the step gives that of its first call.
    ///
    /// # Errors
    /// The closure failed, its loss is no single number, or memory is short. The parameters may be
    /// changed then.
    pub fn step(&mut self, mut closure: impl FnMut() -> Result<Tensor>) -> Result<Tensor> {
        let first = closure()?;
        if self.parameters.is_empty() {
            return Ok(first);
        }
        self.evaluations += 1;
        let mut now = self.evaluation(&first)?;
        if now.is_flat(self.options.tolerance_grad)? {
            return Ok(first);
        }
        let max_eval = self.options.max_eval.unwrap_or(self.options.max_iter.saturating_mul(5) / 4);
        let mut evaluations = 1;
        for iteration in 1..=self.options.max_iter {
            self.iterations += 1;
            let descent = self.descend(&now)?;
            let slope = dot(&now.gradient, &descent.direction)?;
            if slope > -self.options.tolerance_change {
                self.descent = Some(descent);
                break;
            }
            let before = now.loss;
            let is_last = iteration == self.options.max_iter;
            let budget = max_eval.saturating_sub(evaluations);
            let (descent, next, used) =
                self.advance(descent, &now, slope, is_last, budget, &mut closure)?;
            evaluations += used;
            self.evaluations += used;
            let length = descent.length;
            let longest = largest(&descent.direction)? * length.abs();
            self.descent = Some(descent);
            now = next.unwrap_or(now);
            if is_last
                || evaluations >= max_eval
                || now.is_flat(self.options.tolerance_grad)?
                || longest <= self.options.tolerance_change
                || (now.loss - before).abs() < self.options.tolerance_change
            {
                break;
            }
        }
        Ok(first)
    }

    /// The direction of the next iteration, and its first length.
    fn descend(&mut self, now: &Evaluation) -> Result<Descent> {
        no_grad(|| match self.descent.take() {
            None => {
                let steepness = now.gradient.abs()?.sum(())?.to(DType::F64)?.item::<f64>()?;
                Ok(Descent {
                    direction: now.gradient.neg()?,
                    length: (1.0 / steepness).min(1.0) * self.options.lr,
                    gradient: now.gradient.clone(),
                    history: CurvatureHistory::new(),
                })
            }
            Some(last) => {
                let Descent { direction, length, gradient, mut history } = last;
                history.update(
                    now.gradient.sub(&gradient)?,
                    direction.mul(length)?,
                    self.options.history_size,
                )?;
                Ok(Descent {
                    direction: history.direction(&now.gradient)?,
                    length: self.options.lr,
                    gradient: now.gradient.clone(),
                    history,
                })
            }
        })
    }

    /// Moves the parameters along a direction: the descent with the length that was taken, the
    /// evaluation there, if there is one, and the number of evaluations.
    fn advance(
        &mut self,
        mut descent: Descent,
        now: &Evaluation,
        slope: f64,
        is_last: bool,
        budget: u64,
        closure: &mut impl FnMut() -> Result<Tensor>,
    ) -> Result<(Descent, Option<Evaluation>, u64)> {
        match self.options.line_search {
            LineSearch::None => {
                self.shift(&descent.direction, descent.length)?;
                if is_last {
                    // Nobody looks at the loss there.
                    return Ok((descent, None, 0));
                }
                let loss = closure()?;
                Ok((descent, Some(self.evaluation(&loss)?), 1))
            }
            LineSearch::StrongWolfe => {
                let start: Vec<Tensor> = self
                    .parameters
                    .iter()
                    .map(|one| one.detach().clone_data())
                    .collect::<Result<_>>()?;
                let this = &*self;
                let direction = &descent.direction;
                let evaluate = |length: f64| {
                    this.shift(direction, length)?;
                    let loss = closure()?;
                    let found = this.evaluation(&loss)?;
                    this.put_back(&start)?;
                    Ok(found)
                };
                let found = strong_wolfe(evaluate, descent.length, direction, now, slope, budget)?;
                self.shift(&descent.direction, found.length)?;
                descent.length = found.length;
                Ok((descent, Some(found.evaluation), found.evaluations))
            }
        }
    }

    /// The loss, and the gradients as one vector, as they are to be made smaller.
    fn evaluation(&self, loss: &Tensor) -> Result<Evaluation> {
        no_grad(|| {
            let loss = loss.to(DType::F64)?.item::<f64>()?;
            let mut parts = Vec::new();
            for parameter in &self.parameters {
                let gradient = parameter.grad().map_or_else(|| parameter.zeros_like(), Ok)?;
                parts.push(gradient.reshape([-1])?);
            }
            let gradient = Tensor::cat(parts, 0)?;
            if self.options.maximize {
                return Ok(Evaluation { loss: -loss, gradient: gradient.neg()? });
            }
            Ok(Evaluation { loss, gradient })
        })
    }

    /// Adds a part of a vector to the parameters.
    fn shift(&self, direction: &Tensor, length: f64) -> Result<()> {
        no_grad(|| {
            let mut begin = 0;
            for parameter in &self.parameters {
                let part = direction.narrow(0, begin, parameter.numel())?;
                parameter.add_scaled_(&part.reshape(parameter.shape())?, length)?;
                begin += parameter.numel();
            }
            Ok(())
        })
    }

    fn put_back(&self, start: &[Tensor]) -> Result<()> {
        no_grad(|| {
            let mut pairs = self.parameters.iter().zip(start);
            pairs.try_for_each(|(parameter, value)| parameter.copy_(value).map(drop))
        })
    }
}

impl LBFGSBuilder {
    /// Sets the learning rate.
    pub fn lr(mut self, lr: f64) -> Self {
        self.options.lr = lr;
        self
    }

    /// Sets the most iterations of a step; 20 by default.
    pub fn max_iter(mut self, iterations: u64) -> Self {
        self.options.max_iter = iterations;
        self
    }

    /// Sets the most evaluations of a step; 5 / 4 of the iterations by default.
    pub fn max_eval(mut self, evaluations: u64) -> Self {
        self.options.max_eval = Some(evaluations);
        self
    }

    /// Sets the largest element of a gradient with which a step ends; 1e-7 by default.
    pub fn tolerance_grad(mut self, tolerance: f64) -> Self {
        self.options.tolerance_grad = tolerance;
        self
    }

    /// Sets the change of the loss, and of the parameters, with which a step ends; 1e-9 by default.
    pub fn tolerance_change(mut self, tolerance: f64) -> Self {
        self.options.tolerance_change = tolerance;
        self
    }

    /// Sets the number of iterations that are remembered; 100 by default. Each takes the memory of
    /// all parameters twice.
    pub fn history_size(mut self, iterations: usize) -> Self {
        self.options.history_size = iterations;
        self
    }

    /// Sets the way in which the length of a step is found (`line_search_fn`); none by default.
    pub fn line_search(mut self, search: LineSearch) -> Self {
        self.options.line_search = search;
        self
    }

    /// Climbs instead of descending.
    pub fn maximize(mut self) -> Self {
        self.options.maximize = true;
        self
    }

    /// Builds the optimizer.
    ///
    /// # Errors
    /// A parameter is not a leaf, is given twice, or is on another device or of another dtype than
    /// the first; or the learning rate is negative.
    pub fn build(self) -> Result<LBFGS> {
        let LBFGSBuilder { parameters, options } = self;
        state::check(&parameters, options)?;
        Ok(LBFGS { parameters, options, descent: None, iterations: 0, evaluations: 0 })
    }
}

/// The product of two vectors, on the host.
fn dot(a: &Tensor, b: &Tensor) -> Result<f64> {
    no_grad(|| a.dot(b)?.to(DType::F64)?.item::<f64>())
}

/// The size of the largest element.
fn largest(vector: &Tensor) -> Result<f64> {
    if vector.numel() == 0 {
        return Ok(0.0);
    }
    no_grad(|| vector.norm(f64::INFINITY, ())?.to(DType::F64)?.item::<f64>())
}
