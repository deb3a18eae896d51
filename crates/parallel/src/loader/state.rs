//! The place of a loader in its epochs.

use std::sync::Arc;

use nn::StateDict;
use parking_lot::Mutex;
use tensor::{Device, Error, Result, Tensor};

/// The place of a loader in its epochs, by which it can be put back there later: see
/// [`DataLoader::state`](crate::DataLoader::state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataLoaderState {
    /// The number of the epoch.
    pub epoch: u64,
    /// The number of batches of this epoch that were handed to the loop.
    pub batches: usize,
}

/// The names of the two numbers in a state dict.
const EPOCH: &str = "epoch";
const BATCHES: &str = "batches";

/// A place as a state dict.
///
/// # Errors
/// Memory is short.
pub(super) fn saved(state: DataLoaderState) -> Result<StateDict> {
    let numbers = [(EPOCH, state.epoch as i64), (BATCHES, state.batches as i64)];
    let named = |(name, number): (&str, i64)| {
        Ok((name.to_owned(), Tensor::from_vec(vec![number], [1], Device::Cpu)?))
    };
    numbers.into_iter().map(named).collect()
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
    Ok(DataLoaderState { epoch: number(EPOCH)? as u64, batches: number(BATCHES)? as usize })
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
        self.0.lock().now
    }

    pub(super) fn set_state(&self, state: DataLoaderState) {
        *self.0.lock() = LoaderPlaces { now: state, next: state };
    }

    /// Begins an epoch, and gives its number and the number of its batches to leave out. The one
    /// after it has the next number, however far this one comes.
    pub(super) fn begin(&self) -> DataLoaderState {
        let mut places = self.0.lock();
        let begun = places.next;
        places.now = begun;
        places.next = DataLoaderState { epoch: begun.epoch.wrapping_add(1), batches: 0 };
        begun
    }

    /// Says that so many batches of an epoch were handed out, which are all of them or not. Another
    /// epoch may have begun meanwhile, which counts then.
    pub(super) fn handed_out(&self, epoch: u64, batches: usize, is_all: bool) {
        let mut places = self.0.lock();
        if places.now.epoch == epoch {
            places.now = if is_all { places.next } else { DataLoaderState { epoch, batches } };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, batches: usize) -> DataLoaderState {
        DataLoaderState { epoch, batches }
    }

    #[test]
    fn an_epoch_that_is_over_leads_to_the_next_one() {
        let progress = LoaderProgress::default();
        assert_eq!(progress.begin(), at(0, 0));
        progress.handed_out(0, 1, false);
        assert_eq!(progress.state(), at(0, 1));
        progress.handed_out(0, 2, true);
        assert_eq!(progress.state(), at(1, 0));
        assert_eq!(progress.begin(), at(1, 0));
    }

    #[test]
    fn an_epoch_that_was_left_is_not_gone_on_with_unless_one_asks_for_it() {
        let progress = LoaderProgress::default();
        progress.begin();
        progress.handed_out(0, 3, false);
        let left = progress.state();
        assert_eq!(progress.begin(), at(1, 0));
        progress.handed_out(0, 4, false);
        assert_eq!(progress.state(), at(1, 0), "the iterator begun last counts");
        progress.set_state(left);
        assert_eq!(progress.begin(), at(0, 3));
    }
}
