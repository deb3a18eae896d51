//! Elementwise functions of the program's own, which run in one pass.

mod call;
mod form;
mod function;
mod functions;
mod operands;
mod value;

use smallvec::smallvec;

pub use operands::FusedOperands;
pub use value::{FusedOperand, FusedValue};

use crate::{Result, Tensor};
use function::FusedFunction;

/// Makes an elementwise function of `N` operands of a closure that says what happens to their
/// elements: `fuse(|[x, y, z]| (x * y + z).gelu())`.
///
/// The closure describes the computation ([`FusedValue`]) and is called once for each combination of
/// dtypes, not for each element. A call of the function makes one pass over memory and launches one
/// kernel, where operations one by one would make a pass each; gradients of it, of any order, are
/// fused as well. It works for every dtype, layout and device, and needs no compiler but the CUDA
/// driver.
///
/// ```
/// use tensor::{Device, Tensor, fuse, tensor};
///
/// let f = fuse(|[x, y, z]| (x * y + z).relu());
/// let x = tensor![[1.0, -2.0], [3.0, 4.0]]?.requires_grad_(true)?;
/// let y = tensor![2.0, 0.5]?;
/// let result = f.call((&x, &y, 0.5))?;
/// assert_eq!(result.to_vec::<f32>()?, [2.5, 0.0, 6.5, 2.5]);
///
/// result.sum(())?.backward()?;
/// let gradient = x.grad().expect("it was computed");
/// assert_eq!(gradient.to_vec::<f32>()?, [2.0, 0.0, 2.0, 0.5]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn fuse<const N: usize, F>(f: F) -> Fused<N>
where
    F: for<'t> Fn([FusedValue<'t>; N]) -> FusedValue<'t> + Send + Sync + 'static,
{
    Fused { function: FusedFunction::new(Box::new(move |operands| smallvec![f(operands)])) }
}

/// Makes an elementwise function with `M` results, all computed in the same pass.
///
/// ```
/// use tensor::{fuse_many, tensor};
///
/// // A rotation by an angle.
/// let rotate = fuse_many(|[x, y, angle]| {
///     let (sin, cos) = (angle.sin(), angle.cos());
///     [x * cos - y * sin, x * sin + y * cos]
/// });
/// let [x, y] = rotate.call((&tensor![1.0, 2.0]?, &tensor![0.0, 0.0]?, 0.0))?;
/// assert_eq!((x.to_vec::<f32>()?, y.to_vec::<f32>()?), (vec![1.0, 2.0], vec![0.0, 0.0]));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn fuse_many<const N: usize, const M: usize, F>(f: F) -> FusedMany<N, M>
where
    F: for<'t> Fn([FusedValue<'t>; N]) -> [FusedValue<'t>; M] + Send + Sync + 'static,
{
    FusedMany {
        function: FusedFunction::new(Box::new(move |operands| f(operands).into_iter().collect())),
    }
}

/// An elementwise function of `N` operands, made by [`fuse`].
///
/// It is compiled when it is first called with operands of new dtypes: the closure is traced
/// (microseconds), and on a CUDA device the driver compiles the printed kernel (milliseconds), once
/// for each class of layouts. Equal functions share what was compiled, wherever they were made, and
/// it stays as long as the process.
pub struct Fused<const N: usize> {
    function: FusedFunction<N>,
}

impl<const N: usize> Fused<N> {
    /// Names the function in errors and in the graph of recorded operations; without it the name is
    /// `fuse`.
    pub fn named(mut self, name: &'static str) -> Fused<N> {
        self.function.set_name(name);
        self
    }

    /// Applies the function to tensors and numbers, which are broadcast, and gives a new tensor of
    /// the dtype that PyTorch's promotion gives to the operations one by one. On CUDA it is enqueued
    /// on the device's current stream. It is recorded for gradients as any operation is.
    ///
    /// ```
    /// use tensor::tensor;
    /// let scaled = tensor::fuse(|[x, y]| (x * y).tanh());
    /// let y = scaled.call((&tensor![0.0, 1.0]?, 1.0))?;
    /// assert_eq!(y.to_string(), "tensor([0.0000, 0.7616])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the function has no meaning for
    /// their dtypes (`&` of floats); memory or the runtime failed.
    #[track_caller]
    pub fn call<'a>(&self, operands: impl FusedOperands<'a, N>) -> Result<Tensor> {
        self.function.apply(&operands.operands())
    }

    /// Writes the result into `target`, in its dtype, in place of what it held. The target may be
    /// one of the operands.
    ///
    /// ```
    /// use tensor::{fuse, tensor};
    ///
    /// let average = fuse(|[so_far, x]| so_far * 0.75 + x * 0.25);
    /// let running = tensor![4.0, 8.0]?;
    /// average.call_into(&running, (&running, &tensor![0.0, 4.0]?))?;
    /// assert_eq!(running.to_vec::<f32>()?, [3.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Fused::call`]; the result is larger than the target, or of a higher category than its
    /// dtype; the target repeats elements; it would have to be recorded.
    #[track_caller]
    pub fn call_into<'a>(
        &self,
        target: &Tensor,
        operands: impl FusedOperands<'a, N>,
    ) -> Result<()> {
        self.function.apply_into(target, &operands.operands())
    }
}

/// An elementwise function of `N` operands with `M` results, made by [`fuse_many`]; see [`Fused`].
pub struct FusedMany<const N: usize, const M: usize> {
    function: FusedFunction<N>,
}

impl<const N: usize, const M: usize> FusedMany<N, M> {
    /// Names the function in errors and in the graph of recorded operations; without it the name is
    /// `fuse`.
    pub fn named(mut self, name: &'static str) -> FusedMany<N, M> {
        self.function.set_name(name);
        self
    }

    /// Applies the function, as [`Fused::call`] does, and gives all results, of one shape.
    ///
    /// # Errors
    /// As [`Fused::call`].
    #[track_caller]
    pub fn call<'a>(&self, operands: impl FusedOperands<'a, N>) -> Result<[Tensor; M]> {
        let results = self.function.apply_all(&operands.operands())?;
        Ok(results.try_into().expect("the closure gives M results"))
    }

    /// Writes the results into `targets`, each in place of what it held, in one pass over memory.
    /// Targets may be operands: an optimizer's step changes a parameter and its state. It is not
    /// recorded.
    ///
    /// ```
    /// use tensor::{fuse_many, tensor};
    ///
    /// let step = fuse_many(|[weight, velocity, gradient]| {
    ///     let velocity = velocity * 0.5 + gradient;
    ///     [weight - velocity * 0.25, velocity]
    /// });
    /// let (weight, velocity) = (tensor![1.0, 2.0]?, tensor![0.0, 8.0]?);
    /// step.call_into([&weight, &velocity], (&weight, &velocity, &tensor![4.0, 0.0]?))?;
    /// assert_eq!(weight.to_vec::<f32>()?, [0.0, 1.0]);
    /// assert_eq!(velocity.to_vec::<f32>()?, [4.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FusedMany::call`]; a result is of another shape or dtype than its target; a target
    /// repeats elements, or shares some with another; grad mode is on, and a tensor requires
    /// gradients.
    #[track_caller]
    pub fn call_into<'a>(
        &self,
        targets: [&Tensor; M],
        operands: impl FusedOperands<'a, N>,
    ) -> Result<()> {
        self.function.apply_all_into(&targets, &operands.operands())
    }
}
