//! Tensors by name.

use std::collections::BTreeMap;

use tensor::Tensor;

/// Tensors by name, in the order of the names (PyTorch's `state_dict`). Names of what belongs to a
/// part of a model begin with the part's name and a dot.
pub type StateDict = BTreeMap<String, Tensor>;
