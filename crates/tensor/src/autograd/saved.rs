//! Tensors that are saved for the backward pass, with the check that they were not changed since.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::history::edge_of;
use super::recompute::{self, Saved};
use crate::AutogradError;
use crate::grad_mode::is_grad_enabled;
use crate::layout::Layout;
use crate::shared::{Counted, WeakCounted};
use crate::storage::{Storage, WeakStorage};
use crate::tensor::{Edge, Meta, Node, NodeOutput, SavedStorage};
use crate::{Result, Shape, Tensor};

/// A tensor that was saved when an operation was recorded (PyTorch's `SavedVariable`): its memory,
/// and where its gradient goes. A change of the memory in place since then is noticed by the
/// storage's version.
///
/// It is not a handle on the tensor: an operation in place may give that another history, through
/// which the node that saved it could be reached, and then neither would ever be freed.
pub(crate) struct SavedTensor {
    memory: Saved,
    history: SavedHistory,
}

/// The memory of a saved tensor, as it was then.
#[derive(Clone)]
pub(super) struct Kept {
    /// A tensor of its own, without history.
    alias: Tensor,
    version: u64,
}

impl Kept {
    fn of(tensor: &Tensor) -> Kept {
        Kept { alias: tensor.detach(), version: tensor.storage().version() }
    }

    /// # Errors
    /// The memory was modified in place since it was saved, or nobody knows.
    fn check(&self) -> Result<()> {
        let shape = self.alias.layout().shape();
        expect_version(self.alias.storage(), self.version, shape)?;
        if self.alias.is_inference() {
            return Err(AutogradError::InferenceSaved { shape: shape.clone() }.into());
        }
        Ok(())
    }
}

/// # Errors
/// The memory was modified in place since it had this version.
fn expect_version(storage: &Storage, saved: u64, shape: &Shape) -> Result<()> {
    match storage.version() {
        now if now == saved => Ok(()),
        now => Err(AutogradError::Modified { shape: shape.clone(), saved, now }.into()),
    }
}

/// A tensor that a backward function has no need of, but which must not be modified before it runs,
/// as in PyTorch, whose formula uses it. It is watched, not kept.
pub(crate) struct WatchedTensor {
    storage: WeakStorage,
    shape: Shape,
    version: u64,
}

impl WatchedTensor {
    /// # Errors
    /// The tensor was modified in place since.
    pub(crate) fn check(&self) -> Result<()> {
        match self.storage.upgrade() {
            Some(storage) => expect_version(&storage, self.version, &self.shape),
            None => Ok(()),
        }
    }
}

/// The history of a saved tensor.
enum SavedHistory {
    /// It requires no gradients.
    None,
    /// It is an input of the operation, or was computed from some.
    Of(Edge),
    /// It is an output of the node that saves it, which therefore does not own the history.
    Output(WeakCounted<Node>, u32),
    /// It is a part of the node's output, which was written in place.
    PartOfOutput(WeakCounted<Node>, Box<OutputPart>),
}

/// A part of a node's output.
struct OutputPart {
    /// The layout of the output.
    whole: Layout,
    view: WrittenView,
}

/// The node by which a view that was written in place is a part of its base. It is not known before
/// the write is recorded, and not kept.
pub(super) type WrittenView = Arc<OnceLock<WeakCounted<Node>>>;

impl SavedTensor {
    fn new(kept: Kept, history: SavedHistory) -> SavedTensor {
        SavedTensor { memory: recompute::save(kept), history }
    }

    /// A tensor whose history is not needed.
    pub(super) fn without_history(tensor: &Tensor) -> SavedTensor {
        SavedTensor::new(Kept::of(tensor), SavedHistory::None)
    }

    /// The storage, if it is kept.
    pub(super) fn kept(&self) -> Option<SavedStorage> {
        match &self.memory {
            Saved::Kept(kept) => Some(SavedStorage::of(kept.alias.storage())),
            Saved::Later(..) => None,
        }
    }

    /// The memory.
    ///
    /// # Errors
    /// It was modified in place since it was saved.
    fn memory(&self) -> Result<Cow<'_, Kept>> {
        let kept = match &self.memory {
            Saved::Kept(kept) => Cow::Borrowed(kept),
            Saved::Later(part, number) => Cow::Owned(part.saved(*number)?),
        };
        kept.check()?;
        Ok(kept)
    }

    /// [`SavedTensor::get`] for a function that only reads the tensor and gives no handle on it
    /// away: it is made only if grad mode is on.
    ///
    /// # Errors
    /// As [`SavedTensor::get`].
    pub(crate) fn read(&self) -> Result<Cow<'_, Tensor>> {
        if is_grad_enabled() {
            return self.get().map(Cow::Owned);
        }
        Ok(match self.memory()? {
            Cow::Borrowed(kept) => Cow::Borrowed(&kept.alias),
            Cow::Owned(kept) => Cow::Owned(kept.alias),
        })
    }

    /// The tensor, with its history if grad mode is on.
    ///
    /// # Errors
    /// The memory was modified in place since it was saved.
    pub(crate) fn get(&self) -> Result<Tensor> {
        let kept = self.memory()?;
        let saved = &kept.alias;
        let of = |layout: &Layout, meta| {
            Tensor::from_parts(saved.storage().clone(), layout.clone(), saved.dtype(), meta)
        };
        let output = |node: &WeakCounted<Node>, index| {
            let output = node.upgrade().map(|node| Edge::Node(NodeOutput { node, index }));
            output.map_or(Meta::none(), Meta::of_edge)
        };
        if !is_grad_enabled() {
            return Ok(of(saved.layout(), Meta::none()));
        }
        match &self.history {
            SavedHistory::None => Ok(of(saved.layout(), Meta::none())),
            SavedHistory::Of(edge) => Ok(of(saved.layout(), Meta::of_edge(edge.clone()))),
            SavedHistory::Output(node, index) => Ok(of(saved.layout(), output(node, *index))),
            SavedHistory::PartOfOutput(node, part) => {
                // The view's own history, so that gradients flow through the view.
                match part.view.get().and_then(WeakCounted::upgrade) {
                    Some(node) => {
                        let own = Edge::Node(NodeOutput { node, index: 0 });
                        Ok(of(saved.layout(), Meta::of_edge(own)))
                    }
                    None => of(&part.whole, output(node, 0)).part_at(saved.layout()),
                }
            }
        }
    }
}

/// The recording of one operation: saves tensors for its backward function, and knows which inputs
/// require gradients, so that nothing is saved that is not needed.
pub(crate) struct Saving<'a> {
    pub(super) node: &'a Counted<Node>,
    pub(super) outputs: &'a [&'a Tensor],
    /// The tensor that the node's output is, where `outputs` has a part of it that was written in
    /// place, and that part's node.
    pub(super) base: Option<(&'a Tensor, &'a WrittenView)>,
    /// The memory that the operation has written in place, and its version before.
    pub(super) written: Option<(&'a Storage, u64)>,
    pub(super) saved: RefCell<SmallVec<[SavedStorage; 2]>>,
}

impl Saving<'_> {
    /// Whether an input requires a gradient.
    pub(crate) fn needs(&self, input: usize) -> bool {
        self.node.inputs[input].is_some()
    }

    /// Saves an input, or a tensor that is neither input nor output. An input that shares memory
    /// with the tensor that the operation has written is lost already, which the backward pass
    /// will say.
    pub(crate) fn save(&self, tensor: &Tensor) -> SavedTensor {
        let mut kept = Kept::of(tensor);
        if let Some((storage, before)) = self.written
            && storage.ptr_eq(tensor.storage())
        {
            kept.version = before;
            // Nobody will have it. Nor must it be asked for its history now: if it is a view, that
            // would begin anew at the base, which has not got the history of this write yet.
            return self.saved_as(kept, SavedHistory::None);
        }
        self.saved_as(kept, edge_of(tensor).map_or(SavedHistory::None, SavedHistory::Of))
    }

    /// Saves the output, or the first of several.
    pub(crate) fn save_output(&self) -> SavedTensor {
        self.save_output_at(0)
    }

    /// Saves one of several outputs.
    pub(crate) fn save_output_at(&self, index: usize) -> SavedTensor {
        let output = self.outputs[index];
        let node = Counted::downgrade(self.node);
        let history = match self.base {
            Some((base, view)) => {
                let part = OutputPart { whole: base.layout().clone(), view: Arc::clone(view) };
                SavedHistory::PartOfOutput(node, Box::new(part))
            }
            None => SavedHistory::Output(node, index as u32),
        };
        self.saved_as(Kept::of(output), history)
    }

    /// Watches the output: the backward pass refuses to go on where it was modified.
    pub(crate) fn watch_output(&self) -> WatchedTensor {
        self.watch(self.outputs[0])
    }

    /// Watches a tensor like the output.
    pub(crate) fn watch(&self, tensor: &Tensor) -> WatchedTensor {
        let storage = tensor.storage();
        WatchedTensor {
            storage: storage.downgrade(),
            shape: tensor.layout().shape().clone(),
            version: storage.version(),
        }
    }

    /// The position of a tensor among the outputs.
    pub(super) fn position_of_output(&self, tensor: &Tensor) -> Option<usize> {
        self.outputs.iter().position(|output| output.is_same_handle(tensor))
    }

    /// Saves a copy of an operand that was made before the operand was overwritten, with the
    /// gradient going where the operand's went.
    pub(super) fn save_copy(&self, copy: &Tensor, edge: Option<Edge>) -> SavedTensor {
        self.saved_as(Kept::of(copy), edge.map_or(SavedHistory::None, SavedHistory::Of))
    }

    fn saved_as(&self, kept: Kept, history: SavedHistory) -> SavedTensor {
        let saved = SavedTensor::new(kept, history);
        let mut storages = self.saved.borrow_mut();
        match &saved.memory {
            Saved::Kept(kept) => storages.push(SavedStorage::of(kept.alias.storage())),
            Saved::Later(part, _) => storages.extend_from_slice(part.storages()),
        }
        saved
    }
}
