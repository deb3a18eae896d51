//! The state of replicas in a checkpoint: one model and one optimizer, for any number of devices.

use nn::{Module, StateDict, Stateful};
use tensor::Tensor;

use super::Replicas;

/// The beginnings of the names of the model's and of the optimizer's tensors.
const MODEL: &str = "model.";
const OPTIMIZER: &str = "optimizer.";

/// The state of the first replica, under `model.` and `optimizer.`. It can be taken over on any number
/// of devices.
impl<M: Module> Stateful for Replicas<M> {
    fn state(&self) -> tensor::Result<StateDict> {
        let first = &self.replicas[0];
        let mut state = prefixed(MODEL, first.model.state_dict());
        if let Some(optimizer) = &first.optimizer {
            state.extend(prefixed(OPTIMIZER, optimizer.state_dict()?));
        }
        Ok(state)
    }

    fn set_state(&mut self, state: &StateDict) -> tensor::Result<()> {
        let (model, optimizer) = (part(MODEL, state), part(OPTIMIZER, state));
        for replica in &mut self.replicas {
            replica.model.load_state_dict(&model)?;
            if let Some(own) = &mut replica.optimizer {
                own.load_state_dict(&optimizer)?;
            }
            replica.model.clear_gradients();
        }
        self.ahead = None;
        Ok(())
    }
}

fn prefixed(prefix: &str, state: StateDict) -> StateDict {
    state.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)).collect()
}

fn part(prefix: &str, state: &StateDict) -> StateDict {
    let own = |(name, tensor): (&String, &Tensor)| {
        Some((name.strip_prefix(prefix)?.to_owned(), tensor.clone()))
    };
    state.iter().filter_map(own).collect()
}
