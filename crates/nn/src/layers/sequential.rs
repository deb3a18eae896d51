//! Modules that are applied one after the other.

use std::fmt;

use tensor::Tensor;

use crate::{Forward, Member, MemberMut, Module, Result};

/// Modules that are applied one after the other, as [`sequential!`](crate::sequential) makes them
/// (`torch.nn.Sequential`). Their names are `0`, `1`, ... as in PyTorch, so
/// that a parameter is called `0.weight`. A clone shares the parameters.
///
/// ```
/// use nn::{Forward, Linear, ReLU, sequential};
/// use tensor::Tensor;
/// let model = sequential![Linear::new(4, 16)?, ReLU, Linear::new(16, 3)?];
/// assert_eq!(model.forward(&Tensor::ones([8, 4], ())?)?.shape(), [8, 3]);
/// println!("{model}");
/// // Sequential(
/// //   (0): Linear(in_features=4, out_features=16, bias=True)
/// //   (1): ReLU()
/// //   (2): Linear(in_features=16, out_features=3, bias=True)
/// // )
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Layer>>,
}

/// The [`Sequential`](crate::Sequential) of these layers, which are applied one after the other.
///
/// ```
/// use nn::{Forward, Linear, ReLU, sequential};
/// use tensor::Tensor;
/// let model = sequential![Linear::new(4, 16)?, ReLU, Linear::new(16, 3)?];
/// assert_eq!(model.forward(&Tensor::ones([8, 4], ())?)?.shape(), [8, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[macro_export]
macro_rules! sequential {
    ($($layer:expr),* $(,)?) => {
        $crate::Sequential::new()$(.push($layer))*
    };
}

impl Sequential {
    /// A module without layers, which gives its input back.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// The module with one more layer at the end, where layers are not known until the program runs.
    ///
    /// ```
    /// use nn::{Linear, ReLU, Sequential};
    /// let mut model = Sequential::new();
    /// for _ in 0..3 {
    ///     model = model.push(Linear::new(8, 8)?).push(ReLU);
    /// }
    /// assert_eq!(model.len(), 6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[must_use]
    pub fn push(mut self, layer: impl Forward<Tensor, Output = Tensor> + Clone) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }

    /// The number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl Module for Sequential {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        for (number, layer) in self.layers.iter().enumerate() {
            visitor(&number.to_string(), Member::Module(layer.as_module()));
        }
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        for (number, layer) in self.layers.iter_mut().enumerate() {
            visitor(&number.to_string(), MemberMut::Module(layer.as_module_mut()))?;
        }
        Ok(())
    }
}

impl Forward for Sequential {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let Some((first, rest)) = self.layers.split_first() else { return Ok(input.clone()) };
        rest.iter().try_fold(first.forward(input)?, |x, layer| layer.forward(&x))
    }
}

impl fmt::Display for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self as &dyn Module, f)
    }
}

impl fmt::Debug for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A layer that can be cloned behind a pointer.
trait Layer: Forward<Tensor, Output = Tensor> {
    fn clone_layer(&self) -> Box<dyn Layer>;
}

impl<M: Forward<Tensor, Output = Tensor> + Clone> Layer for M {
    fn clone_layer(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Layer> {
    fn clone(&self) -> Self {
        (**self).clone_layer()
    }
}
