//! The place of a loader in its epochs.

use std::sync::Arc;

use nn::StateDict;
use parking_lot::Mutex;
use tensor::{Device, Error, Result, Tensor};

/// The place of a loader in its epochs, by which it can be put back there later: see
/// [`DataLoader::state`](crate::DataLoader::state).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataLoaderState {
    /// The number of the epoch.
    pub epoch: u64,
    /// The number of batches of this epoch that were handed to the loop, from the first one on.
    pub batches: usize,
    /// The numbers of the batches after those that were handed to the loop before their turn, in
    /// order; none, unless [`in_order`](crate::DataLoaderBuilder::in_order) is off.
    pub early: Vec<usize>,
}

/// The names of the numbers in a state dict.
const EPOCH: &str = "epoch";
const BATCHES: &str = "batches";
const EARLY: &str = "early";

/// A place as a state dict.
///
/// # Errors
/// Memory is short.
pub(super) fn saved(state: &DataLoaderState) -> Result<StateDict> {
    let early = state.early.iter().map(|&batch| batch as i64).collect();
    let numbers =
        [(EPOCH, vec![state.epoch as i64]), (BATCHES, vec![state.batches as i64]), (EARLY, early)];
    let named = |(name, numbers): (&str, Vec<i64>)| {
        let count = numbers.len();
        Ok((name.to_owned(), Tensor::from_vec(numbers, [count], Device::Cpu)?))
    };
    numbers.into_iter().filter(|(_, numbers)| !numbers.is_empty()).map(named).collect()
}

/// The place that a state dict has.
///
/// # Errors
/// It is the state of something else.
pub(super) fn taken_over(state: &StateDict) -> Result<DataLoaderState> {
    let number = |name: &str| match state.get(name) {
        Some(number) => number.item::<i64>(),
        None => Err(Error::InvalidArgument {
            op: "DataLoader::set_state",
            argument: "state",
            value: format!("{:?}", state.keys().collect::<Vec<_>>()),
            why: "it is the state of something else than a loader",
        }),
    };
    let early = state.get(EARLY).map(Tensor::to_vec::<i64>).transpose()?.unwrap_or_default();
    let early = early.into_iter().map(|batch| batch as usize).collect();
    Ok(DataLoaderState { epoch: number(EPOCH)? as u64, batches: number(BATCHES)? as usize, early })
}

/// The place of a loader, and that at which its next iterator begins. Iterators share it with their
/// loader.
#[derive(Clone, Debug, Default)]
pub(super) struct LoaderProgress(Arc<Mutex<LoaderPlaces>>);

#[derive(Debug, Default)]
struct LoaderPlaces {
    /// The batches handed out so far, by the iterator that was begun last.
    now: DataLoaderState,
    /// The place at which the next iterator begins.
    next: DataLoaderState,
}

impl LoaderProgress {
    pub(super) fn state(&self) -> DataLoaderState {
        self.0.lock().now.clone()
    }

    pub(super) fn set_state(&self, state: DataLoaderState) {
        *self.0.lock() = LoaderPlaces { now: state.clone(), next: state };
    }

    /// Begins an epoch, and gives its number and its batches to leave out. The one after it has the
    /// next number, however far this one comes.
    pub(super) fn begin(&self) -> DataLoaderState {
        let mut places = self.0.lock();
        let begun = std::mem::take(&mut places.next);
        places.now = begun.clone();
        places.next = beginning(begun.epoch.wrapping_add(1));
        begun
    }

    /// Says that a batch of an epoch was handed out, which has so many, if that is known. Another
    /// epoch may have begun meanwhile, which counts then.
    pub(super) fn handed_out(&self, epoch: u64, batch: usize, total: Option<usize>) {
        let mut places = self.0.lock();
        let now = &mut places.now;
        if now.epoch != epoch {
            return;
        }
        if batch != now.batches {
            let place = now.early.partition_point(|&early| early < batch);
            return now.early.insert(place, batch);
        }
        now.batches = now.batches.saturating_add(1);
        let follows =
            |(index, batch): (usize, &usize)| batch.checked_sub(now.batches) == Some(index);
        let caught_up = now.early.iter().enumerate().take_while(|&next| follows(next)).count();
        now.early.drain(..caught_up);
        now.batches += caught_up;
        if Some(now.batches) == total {
            *now = beginning(epoch.wrapping_add(1));
        }
    }

    /// Says that all batches of an epoch were handed out.
    pub(super) fn ended(&self, epoch: u64) {
        let mut places = self.0.lock();
        if places.now.epoch == epoch {
            places.now = beginning(epoch.wrapping_add(1));
        }
    }
}

fn beginning(epoch: u64) -> DataLoaderState {
    DataLoaderState { epoch, ..DataLoaderState::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, batches: usize) -> DataLoaderState {
        DataLoaderState { epoch, batches, early: Vec::new() }
    }

    #[test]
    fn an_epoch_that_is_over_leads_to_the_next_one() {
        let progress = LoaderProgress::default();
        assert_eq!(progress.begin(), at(0, 0));
        progress.handed_out(0, 0, Some(2));
        assert_eq!(progress.state(), at(0, 1));
        progress.handed_out(0, 1, Some(2));
        assert_eq!(progress.state(), at(1, 0));
        assert_eq!(progress.begin(), at(1, 0));
    }

    #[test]
    fn an_epoch_that_was_left_is_not_gone_on_with_unless_one_asks_for_it() {
        let progress = LoaderProgress::default();
        progress.begin();
        (0..3).for_each(|batch| progress.handed_out(0, batch, Some(9)));
        let left = progress.state();
        assert_eq!(progress.begin(), at(1, 0));
        progress.handed_out(0, 3, Some(9));
        assert_eq!(progress.state(), at(1, 0), "the iterator begun last counts");
        progress.set_state(left);
        assert_eq!(progress.begin(), at(0, 3));
    }

    #[test]
    fn batches_before_their_turn_are_noted_until_it_comes() {
        let progress = LoaderProgress::default();
        progress.begin();
        [3, 1, 4].into_iter().for_each(|batch| progress.handed_out(0, batch, None));
        let early =
            |batches, early: &[usize]| DataLoaderState { epoch: 0, batches, early: early.into() };
        assert_eq!(progress.state(), early(0, &[1, 3, 4]));
        progress.handed_out(0, 0, None);
        assert_eq!(progress.state(), early(2, &[3, 4]));
        let saved = saved(&progress.state()).expect("a few numbers");
        assert_eq!(taken_over(&saved).expect("its own state"), early(2, &[3, 4]));
        progress.handed_out(0, 2, None);
        assert_eq!(progress.state(), early(5, &[]));
        progress.ended(0);
        assert_eq!(progress.state(), at(1, 0));
    }
}
