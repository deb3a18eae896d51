//! The casts of parameters, which are kept until the outermost guard goes, so that a weight that is
//! used often is cast once.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::mode::AutocastMode;
use crate::grad_mode::is_grad_enabled;
use crate::tensor::TensorId;
use crate::{DType, Tensor};

/// The parameter, the dtype, and whether the cast was recorded.
type CastKey = (TensorId, DType, bool);

/// A cast of a parameter.
struct KeptCast {
    /// It is held, so that no other tensor gets its identity.
    _parameter: Tensor,
    /// The version of its memory that was cast.
    version: u64,
    cast: Tensor,
}

thread_local! {
    static CASTS: RefCell<FxHashMap<CastKey, KeptCast>> = RefCell::default();
    /// The guards of this thread that live.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The kept cast of a tensor, if there is one of the elements that it has now.
pub(crate) fn kept_cast(x: &Tensor, dtype: DType) -> Option<Tensor> {
    if !is_kept(x) {
        return None;
    }
    CASTS.with_borrow(|casts| {
        let kept = casts.get(&(x.id(), dtype, is_grad_enabled()))?;
        (kept.version == x.storage().version()).then(|| kept.cast.clone())
    })
}

/// Keeps a cast of a tensor, if it is a parameter.
pub(crate) fn keep_cast(x: &Tensor, dtype: DType, cast: &Tensor) {
    if !is_kept(x) {
        return;
    }
    let kept =
        KeptCast { _parameter: x.clone(), version: x.storage().version(), cast: cast.clone() };
    let before =
        CASTS.with_borrow_mut(|casts| casts.insert((x.id(), dtype, is_grad_enabled()), kept));
    // Dropped here, where the table is not borrowed: hooks of the program may go with it.
    drop(before);
}

/// Whether casts of a tensor are kept: of leaves that require gradients, in single precision.
fn is_kept(x: &Tensor) -> bool {
    DEPTH.get() > 0
        && AutocastMode::current().keeps
        && x.dtype() == DType::F32
        && x.requires_grad()
        && x.is_leaf()
}

/// Counts a guard.
pub(super) fn begin() {
    DEPTH.set(DEPTH.get() + 1);
}

/// Counts a guard that goes. With the last one all kept casts go.
pub(super) fn end() {
    // The locals of a thread that ends may be gone; what they held went with them.
    let left = DEPTH.try_with(|depth| {
        depth.set(depth.get().saturating_sub(1));
        depth.get()
    });
    if left == Ok(0) {
        // Dropped where the table is not borrowed, too.
        drop(CASTS.try_with(|casts| std::mem::take(&mut *casts.borrow_mut())));
    }
}
