//! Modules that are applied one after the other.

use tensor::Tensor;

use crate::{Module, Result};

/// Modules that are applied one after the other. Their names are `0`, `1`, ... as in PyTorch, so
/// that a parameter is called `0.weight`.
#[derive(Clone, Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// A module without layers, which gives its input back.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// The module with one more layer at the end.
    #[must_use]
    pub fn push(mut self, layer: impl Module + Clone + 'static) -> Sequential {
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
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.layers.iter().try_fold(input.clone(), |x, layer| layer.forward(&x))
    }

    fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor)) {
        for (index, layer) in self.layers.iter().enumerate() {
            layer.visit(&mut |name, tensor| visitor(&format!("{index}.{name}"), tensor));
        }
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
    ) -> Result<()> {
        for (index, layer) in self.layers.iter_mut().enumerate() {
            layer.visit_mut(&mut |name, tensor| visitor(&format!("{index}.{name}"), tensor))?;
        }
        Ok(())
    }

    fn set_training(&mut self, training: bool) {
        self.layers.iter_mut().for_each(|layer| layer.set_training(training));
    }
}

/// A module that can be cloned behind a pointer.
trait Layer: Module {
    fn clone_layer(&self) -> Box<dyn Layer>;
}

impl<M: Module + Clone + 'static> Layer for M {
    fn clone_layer(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Layer> {
    fn clone(&self) -> Self {
        (**self).clone_layer()
    }
}
