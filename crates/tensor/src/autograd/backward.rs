//! The interface of the backward pass: `Backward` and `grad`.

use std::panic::Location;

use gpu_runtime::at_place;

use super::engine::{self, Collection, Goal, PassOptions};
use super::history::edge_of;
use crate::AutogradError;
use crate::tensor::{Edge, Form, GraphRetention};
use crate::{Result, Tensor};

/// A backward pass, set up step by step: the outputs that it starts from, their gradients, and
/// whether the graph is kept (`torch.autograd.backward`, `torch.autograd.grad`).
///
/// ```
/// use tensor::{Backward, tensor};
/// let x = tensor![1.0, 2.0, 3.0]?.requires_grad_(true)?;
/// let y = x.square()?.sum(())?;
/// Backward::new().output(&y).retain_graph().run()?;
/// Backward::new().output(&y).run()?;   // once more: the gradients add up
/// assert_eq!(x.grad().expect("was computed").to_vec::<f32>()?, [4.0, 8.0, 12.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[must_use = "nothing is computed before run() or collect()"]
#[derive(Clone)]
pub struct Backward<'a> {
    outputs: Vec<(&'a Tensor, Option<&'a Tensor>)>,
    /// `None` where it follows from `create_graph`.
    graph: Option<GraphRetention>,
    create_graph: bool,
}

impl<'a> Backward<'a> {
    /// A pass without outputs yet, which frees the graph as it goes.
    pub fn new() -> Backward<'a> {
        Backward { outputs: Vec::new(), graph: None, create_graph: false }
    }

    /// Adds an output to start from, with the gradient 1. It must be a single number.
    pub fn output(mut self, output: &'a Tensor) -> Backward<'a> {
        self.outputs.push((output, None));
        self
    }

    /// Adds an output to start from, with its gradient, which must have the same shape, dtype and
    /// device.
    ///
    /// ```
    /// use tensor::{Backward, tensor};
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// Backward::new().output_with(&x.square()?, &tensor![1.0, 10.0]?).run()?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [2.0, 40.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn output_with(mut self, output: &'a Tensor, gradient: &'a Tensor) -> Backward<'a> {
        self.outputs.push((output, Some(gradient)));
        self
    }

    /// Keeps the tensors that the operations saved, so that another pass can go through the graph.
    ///
    /// ```
    /// use tensor::{Backward, tensor};
    /// let x = tensor![2.0]?.requires_grad_(true)?;
    /// let y = x.square()?;
    /// Backward::new().output(&y).retain_graph().run()?;
    /// Backward::new().output(&y).run()?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [8.0], "4, twice");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn retain_graph(mut self) -> Backward<'a> {
        self.graph = Some(GraphRetention::Retain);
        self
    }

    /// Records the pass itself, so that the gradients can be differentiated again. It keeps the
    /// graph too.
    ///
    /// The gradients that [`Backward::run`] adds to leaves then have the graph as their history,
    /// which leads back to the leaves: clear them ([`Tensor::clear_grad`]), or neither is ever
    /// freed. [`Backward::collect`] has no such trap.
    ///
    /// ```
    /// use tensor::{Backward, tensor};
    /// let x = tensor![3.0]?.requires_grad_(true)?;
    /// let y = x.square()?.mul(&x)?.sum(())?;                     // x^3
    /// let first = Backward::new().output(&y).create_graph().collect(&[&x])?;
    /// let slope = first[0].as_ref().expect("y depends on x").sum(())?;
    /// let second = tensor::grad(&[&slope], &[&x])?;
    /// assert_eq!(second[0].as_ref().expect("so does 3 x^2").to_vec::<f32>()?, [18.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn create_graph(mut self) -> Backward<'a> {
        self.create_graph = true;
        self
    }

    fn options(&self) -> PassOptions {
        let default = match self.create_graph {
            true => GraphRetention::Retain,
            false => GraphRetention::Free,
        };
        PassOptions { graph: self.graph.unwrap_or(default), create_graph: self.create_graph }
    }

    /// Adds the gradients of the outputs with respect to every leaf to the leaf's `grad()`.
    /// On CUDA the work is enqueued: each operation's backward on the stream of its forward, and
    /// this thread's current streams wait for them. The host waits only where a gradient flows from
    /// CUDA to the CPU.
    ///
    /// # Errors
    /// An output does not require gradients; one that is not a single number has no gradient given;
    /// the graph was freed; a saved tensor was modified in place; an operation failed. Gradients
    /// that were added before an error stay.
    #[track_caller]
    pub fn run(self) -> Result<()> {
        at_place(Location::caller(), || {
            engine::run(self.roots()?, Goal::Accumulate, self.options())?;
            Ok(())
        })
    }

    /// The gradients with respect to `inputs`, leaves or not, without touching any `grad()`; `None`
    /// for an input that no output depends on.
    ///
    /// ```
    /// use tensor::{Backward, tensor};
    /// let x = tensor![3.0]?.requires_grad_(true)?;
    /// let gradients = Backward::new().output(&x.square()?).collect(&[&x])?;
    /// assert_eq!(gradients[0].as_ref().expect("x has a part in it").to_vec::<f32>()?, [6.0]);
    /// assert!(x.grad().is_none(), "nothing is accumulated");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Backward::run`]; or an input does not require gradients.
    #[track_caller]
    pub fn collect(self, inputs: &[&Tensor]) -> Result<Vec<Option<Tensor>>> {
        let roots = self.roots()?;
        let wanted = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| {
                edge_of(input).ok_or(AutogradError::InputRequiresNoGrad { index })
            })
            .collect::<Result<Vec<Edge>, _>>()?;
        let goal = Goal::Collect(Collection::new(&wanted, roots.iter().map(|(edge, _)| edge)));
        at_place(Location::caller(), || engine::run(roots, goal, self.options()))
    }

    fn roots(&self) -> Result<Vec<(Edge, Tensor)>> {
        let keeps = self.create_graph;
        self.outputs.iter().map(|(output, gradient)| root(output, *gradient, keeps)).collect()
    }
}

impl Default for Backward<'_> {
    fn default() -> Self {
        Backward::new()
    }
}

/// The gradients of the sum of `outputs`, each a single number, with respect to `inputs`; `None`
/// for an input that no output depends on. The graph is freed.
///
/// # Errors
/// As [`Backward::collect`].
///
/// ```
/// use tensor::tensor;
/// let x = tensor![3.0]?.requires_grad_(true)?;
/// let y = x.square()?.sum(())?;
/// let gradients = tensor::grad(&[&y], &[&x])?;
/// assert_eq!(gradients[0].as_ref().expect("y depends on x").to_vec::<f32>()?, [6.0]);
/// assert!(x.grad().is_none());
/// # Ok::<(), tensor::Error>(())
/// ```
#[track_caller]
pub fn grad(outputs: &[&Tensor], inputs: &[&Tensor]) -> Result<Vec<Option<Tensor>>> {
    let pass =
        Backward { outputs: outputs.iter().map(|o| (*o, None)).collect(), ..Backward::new() };
    pass.collect(inputs)
}

/// The edge where a pass begins at `output`, with the gradient that arrives there, which keeps its
/// history if the pass is recorded.
fn root(output: &Tensor, gradient: Option<&Tensor>, keeps: bool) -> Result<(Edge, Tensor)> {
    let edge = edge_of(output).ok_or(AutogradError::NothingRequiresGrad)?;
    let gradient = match gradient {
        Some(gradient) if keeps && edge.form().matches(gradient) => gradient.clone(),
        Some(gradient) if edge.form().matches(gradient) => gradient.detach(),
        Some(gradient) => {
            let (expected, found) = (edge.form().describe(), Form::of(gradient).describe());
            return Err(AutogradError::GradientMismatch { op: "backward", expected, found }.into());
        }
        None if output.numel() == 1 => output.ones_like()?,
        None => {
            let shape = output.layout().shape().clone();
            return Err(AutogradError::NotScalar { shape }.into());
        }
    };
    Ok((edge, gradient))
}
