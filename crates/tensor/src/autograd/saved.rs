//! Tensors that are saved for the backward pass, with the check that they were not changed since.

use std::cell::RefCell;
use std::sync::Weak;

use smallvec::SmallVec;

use super::history::edge_of;
use super::mode::is_grad_enabled;
use crate::AutogradError;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::tensor::{Edge, Meta, Node, NodeOutput, SavedStorage};
use crate::{DType, Result, Tensor};

/// A tensor that was saved when an operation was recorded (PyTorch's `SavedVariable`): its memory,
/// and where its gradient goes. A change of the memory in place since then is noticed by the
/// storage's version.
///
/// It is not a handle on the tensor: an operation in place may give that another history, through
/// which the node that saved it could be reached, and then neither would ever be freed.
pub(crate) struct SavedTensor {
    storage: Storage,
    layout: Layout,
    dtype: DType,
    version: u64,
    history: SavedHistory,
}

/// The history of a saved tensor.
enum SavedHistory {
    /// It requires no gradients.
    None,
    /// It is an input of the operation, or was computed from some.
    Of(Edge),
    /// It is an output of the node that saves it, which therefore does not own the history.
    Output(Weak<Node>, u32),
    /// It is the part of this layout of the node's output, which was written in place.
    PartOfOutput(Weak<Node>, Box<Layout>),
}

impl SavedTensor {
    fn new(tensor: &Tensor, history: SavedHistory) -> SavedTensor {
        SavedTensor {
            storage: tensor.storage().clone(),
            layout: tensor.layout().clone(),
            dtype: tensor.dtype(),
            version: tensor.storage().version(),
            history,
        }
    }

    /// The tensor, with its history if grad mode is on.
    ///
    /// # Errors
    /// The memory was modified in place since it was saved.
    pub(crate) fn get(&self) -> Result<Tensor> {
        let now = self.storage.version();
        if now != self.version {
            let shape = self.layout.shape().clone();
            return Err(AutogradError::Modified { shape, saved: self.version, now }.into());
        }
        if self.storage.is_inference() {
            let shape = self.layout.shape().clone();
            return Err(AutogradError::InferenceSaved { shape }.into());
        }
        let of = |layout: &Layout, meta| {
            Tensor::from_parts(self.storage.clone(), layout.clone(), self.dtype, meta)
        };
        let output = |node: &Weak<Node>, index| {
            let node = node.upgrade()?;
            Some(Meta::of_edge(Edge::Node(NodeOutput { node, index })))
        };
        if !is_grad_enabled() {
            return Ok(of(&self.layout, Meta::none()));
        }
        match &self.history {
            SavedHistory::None => Ok(of(&self.layout, Meta::none())),
            SavedHistory::Of(edge) => Ok(of(&self.layout, Meta::of_edge(edge.clone()))),
            SavedHistory::Output(node, index) => {
                Ok(of(&self.layout, output(node, *index).unwrap_or(Meta::none())))
            }
            SavedHistory::PartOfOutput(node, base) => {
                of(base, output(node, 0).unwrap_or(Meta::none())).part_at(&self.layout)
            }
        }
    }
}

/// The recording of one operation: saves tensors for its backward function, and knows which inputs
/// require gradients, so that nothing is saved that is not needed.
pub(crate) struct Saving<'a> {
    pub(super) node: &'a Weak<Node>,
    pub(super) needs: &'a [bool],
    pub(super) outputs: &'a [&'a Tensor],
    /// The tensor that the node's output is, where `outputs` has a part of it that was written in
    /// place.
    pub(super) base: Option<&'a Tensor>,
    /// The memory that the operation has written in place, and its version before.
    pub(super) written: Option<(&'a Storage, u64)>,
    pub(super) saved: RefCell<SmallVec<[SavedStorage; 2]>>,
}

impl Saving<'_> {
    /// Whether an input requires a gradient.
    pub(crate) fn needs(&self, input: usize) -> bool {
        self.needs[input]
    }

    /// Saves an input, or a tensor that is neither input nor output. An input that shares memory
    /// with the tensor that the operation has written is lost already, which the backward pass
    /// will say.
    pub(crate) fn save(&self, tensor: &Tensor) -> SavedTensor {
        self.count(tensor);
        let history = edge_of(tensor).map_or(SavedHistory::None, SavedHistory::Of);
        let mut saved = SavedTensor::new(tensor, history);
        if let Some((storage, before)) = self.written
            && storage.ptr_eq(tensor.storage())
        {
            saved.version = before;
        }
        saved
    }

    /// Saves the output, or the first of several.
    pub(crate) fn save_output(&self) -> SavedTensor {
        self.save_output_at(0)
    }

    /// Saves one of several outputs.
    pub(crate) fn save_output_at(&self, index: usize) -> SavedTensor {
        let output = self.outputs[index];
        self.count(output);
        let node = Weak::clone(self.node);
        let history = match self.base {
            Some(base) => SavedHistory::PartOfOutput(node, Box::new(base.layout().clone())),
            None => SavedHistory::Output(node, index as u32),
        };
        SavedTensor::new(output, history)
    }

    /// Saves a copy of an operand that was made before the operand was overwritten, with the
    /// gradient going where the operand's went.
    pub(super) fn save_copy(&self, copy: &Tensor, edge: Option<Edge>) -> SavedTensor {
        self.count(copy);
        SavedTensor::new(copy, edge.map_or(SavedHistory::None, SavedHistory::Of))
    }

    fn count(&self, tensor: &Tensor) {
        let storage = tensor.storage();
        self.saved.borrow_mut().push(SavedStorage { id: storage.id(), bytes: storage.nbytes() });
    }
}
