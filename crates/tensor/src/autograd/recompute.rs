//! Saved tensors that are not kept, but computed again when the backward pass asks for them.

use std::cell::RefCell;
use std::sync::Arc;

use parking_lot::Mutex;

use super::saved::{Kept, SavedTensor};
use crate::AutogradError;
use crate::autocast::{AutocastGuard, AutocastMode};
use crate::grad_mode::{enable_grad, is_grad_enabled, no_grad};
use crate::tensor::SavedStorage;
use crate::{Result, Tensor};

/// A part of a program that can be run again: takes its inputs.
pub(crate) type Rerun = dyn Fn(&[Tensor]) -> Result<()> + Send + Sync;

/// A part of a program whose operations save nothing but the part's inputs. The first saved tensor
/// that is asked for runs the part again, and the tensors that its operations save then, in the
/// same order, are those of the first run (as in PyTorch's checkpoint without reentrance).
pub(crate) struct Recomputation {
    rerun: Box<Rerun>,
    /// The mode that the first run was cast in.
    autocast: AutocastMode,
    inputs: Vec<(SavedTensor, bool)>,
    /// The storages of the inputs, as far as they are kept.
    storages: Vec<SavedStorage>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of tensors that the first run has saved.
    saved: usize,
    again: Option<Vec<Kept>>,
}

/// The part of a program that a thread runs: tensors that are saved belong to it.
enum RunningPart {
    First(Arc<Recomputation>),
    Again(Vec<Kept>),
}

thread_local! {
    static RUNNING: RefCell<Option<RunningPart>> = const { RefCell::new(None) };
}

/// Puts back what was running when it is dropped.
struct Restores(Option<RunningPart>);

impl Drop for Restores {
    fn drop(&mut self) {
        let found = self.0.take();
        let _gone_at_thread_end = RUNNING.try_with(|running| running.replace(found));
    }
}

fn enter(part: Option<RunningPart>) -> Restores {
    Restores(RUNNING.replace(part))
}

/// The place of a tensor that is saved now, if the part that runs does not keep it.
pub(super) enum Saved {
    Kept(Kept),
    Later(Arc<Recomputation>, usize),
}

/// Saves a tensor for the part of the program that is running.
pub(super) fn save(kept: Kept) -> Saved {
    RUNNING.with_borrow_mut(|running| match running {
        None => Saved::Kept(kept),
        Some(RunningPart::First(part)) => {
            let mut state = part.state.lock();
            state.saved += 1;
            Saved::Later(Arc::clone(part), state.saved - 1)
        }
        Some(RunningPart::Again(all)) => {
            all.push(kept.clone());
            Saved::Kept(kept)
        }
    })
}

/// The result of a function of tensors, whose operations keep nothing for their gradients but these
/// tensors: the backward pass computes the rest again. It is for functions whose intermediate
/// tensors are larger than their operands, and cheap.
///
/// # Errors
/// The function's own.
pub(crate) fn recomputed(
    operands: &[&Tensor],
    function: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Tensor> {
    let handles: Vec<Tensor> = operands.iter().map(|&operand| operand.clone()).collect();
    if !is_grad_enabled() || !operands.iter().any(|operand| operand.requires_grad()) {
        return function(&handles);
    }
    let function = Arc::new(function);
    let first = Arc::clone(&function);
    let rerun = move |operands: &[Tensor]| function(operands).map(drop);
    Recomputation::first(Box::new(rerun), operands, || first(&handles))
}

impl Recomputation {
    /// Runs a part of the program for the first time. `save` saves an input.
    pub(crate) fn first<R>(
        rerun: Box<Rerun>,
        inputs: &[&Tensor],
        run: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let saved: Vec<(SavedTensor, bool)> = inputs
            .iter()
            .map(|input| (SavedTensor::without_history(input), input.requires_grad()))
            .collect();
        let storages = saved.iter().filter_map(|(input, _)| input.kept()).collect();
        let (autocast, state) = (AutocastMode::current(), Mutex::default());
        let part = Recomputation { rerun, autocast, inputs: saved, storages, state };
        let _first = enter(Some(RunningPart::First(Arc::new(part))));
        run()
    }

    /// The storages of the inputs.
    pub(super) fn storages(&self) -> &[SavedStorage] {
        &self.storages
    }

    /// A tensor that was saved in the first run, by its number.
    ///
    /// # Errors
    /// Running the part again failed, or it saved another number of tensors.
    pub(super) fn saved(&self, number: usize) -> Result<Kept> {
        let mut state = self.state.lock();
        if state.again.is_none() {
            // The lock is held meanwhile, so that threads which ask for other tensors wait for
            // this run. The run itself asks for none of this part: it has nodes of its own.
            let again = self.run_again()?;
            if again.len() != state.saved {
                let (first, again) = (state.saved, again.len());
                return Err(AutogradError::RecomputationDiffers { first, again }.into());
            }
            state.again = Some(again);
        }
        let again = state.again.as_ref().and_then(|again| again.get(number));
        let first = state.saved;
        again
            .cloned()
            .ok_or_else(|| AutogradError::RecomputationDiffers { first, again: number }.into())
    }

    fn run_again(&self) -> Result<Vec<Kept>> {
        let inputs: Vec<Tensor> = no_grad(|| {
            let input = |(input, requires_grad): &(SavedTensor, bool)| {
                input.get()?.requires_grad_(*requires_grad)
            };
            self.inputs.iter().map(input).collect::<Result<_>>()
        })?;
        let _cast_as_before = AutocastGuard::of(self.autocast);
        let _again = enter(Some(RunningPart::Again(Vec::new())));
        enable_grad(|| (self.rerun)(&inputs))?;
        Ok(RUNNING.with_borrow_mut(|running| match running.take() {
            Some(RunningPart::Again(all)) => all,
            Some(RunningPart::First(_)) | None => Vec::new(),
        }))
    }
}
