//! The parts of a checkpoint: objects whose state can be saved and taken over.

use tensor::{DType, Device, Error, Tensor};

use crate::Result;
use crate::state::StateDict;

/// Something whose state can be saved and taken over again
/// (`torch.distributed.checkpoint.stateful.Stateful`): modules, optimizers, schedulers of learning
/// rates, loaders, [`Generators`](crate::checkpoint::Generators), and the numbers of a program, like
/// that of the epoch.
pub trait Stateful {
    /// The state, as tensors by name. They may share memory with the object.
    ///
    /// # Errors
    /// Memory is short, or the runtime failed.
    fn state(&self) -> Result<StateDict>;

    /// Takes over a state.
    ///
    /// # Errors
    /// The state does not fit; nothing is changed then.
    fn set_state(&mut self, state: &StateDict) -> Result<()>;
}

const OP: &str = "checkpoint::load";
/// The name of a number in its state.
const VALUE: &str = "value";

/// Numbers, such as that of the epoch.
macro_rules! stateful_integers {
    ($($integer:ty),*) => {$(
        impl Stateful for $integer {
            fn state(&self) -> Result<StateDict> {
                // The bits, since there is no unsigned dtype of this size.
                let value = Tensor::from_vec(vec![*self as i64], [1], Device::Cpu)?;
                Ok([(VALUE.to_owned(), value)].into())
            }

            fn set_state(&mut self, state: &StateDict) -> Result<()> {
                let [value] = integers(OP, state, VALUE)?;
                *self = value as $integer;
                Ok(())
            }
        }
    )*};
}

stateful_integers!(u64, i64, usize);

impl Stateful for f64 {
    fn state(&self) -> Result<StateDict> {
        Ok([(VALUE.to_owned(), Tensor::from_vec(vec![*self], [1], Device::Cpu)?)].into())
    }

    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        *self = entry(OP, state, VALUE)?.item::<f64>()?;
        Ok(())
    }
}

/// The tensor of a name in a state.
///
/// # Errors
/// There is none.
pub(crate) fn entry<'s>(op: &'static str, state: &'s StateDict, name: &str) -> Result<&'s Tensor> {
    state.get(name).ok_or_else(|| {
        let found: Vec<_> = state.keys().collect();
        let value = format!("`{name}`, among {found:?}");
        let why = "the state does not have it: it may be that of something else";
        Error::InvalidArgument { op, argument: "state", value, why }
    })
}

/// The integers of a name in a state.
///
/// # Errors
/// There are none, or they are of another dtype, or not as many.
pub(crate) fn integers<const N: usize>(
    op: &'static str,
    state: &StateDict,
    name: &str,
) -> Result<[i64; N]> {
    let saved = entry(op, state, name)?;
    let refuse = || Error::InvalidArgument {
        op,
        argument: "state",
        value: format!("`{name}`, of shape {:?} and dtype {}", saved.shape(), saved.dtype()),
        why: "it is not what was saved under this name",
    };
    if saved.dtype() != DType::I64 {
        return Err(refuse());
    }
    saved.to_vec::<i64>()?.try_into().map_err(|_| refuse())
}
