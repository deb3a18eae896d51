//! State dicts: the parameters of a module by name, and loading them.

pub use serialization::StateDict;
use tensor::{Tensor, no_grad};

/// The reason why a state dict could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Names or shapes do not fit; each entry says which.
    #[error("the state does not fit the module: {}", .0.join("; "))]
    Mismatch(Vec<String>),
    /// A value could not be copied.
    #[error(transparent)]
    Tensor(#[from] tensor::Error),
}

/// The error as one of tensors, which programs have.
impl From<StateError> for tensor::Error {
    fn from(error: StateError) -> tensor::Error {
        match error {
            StateError::Tensor(error) => error,
            error => tensor::Error::other(error),
        }
    }
}

/// Copies `state` into `parameters` after checking all of it.
pub(crate) fn load(parameters: &[(String, Tensor)], state: &StateDict) -> Result<(), StateError> {
    let mismatches = mismatches(parameters, state);
    if !mismatches.is_empty() {
        return Err(StateError::Mismatch(mismatches));
    }
    no_grad(|| {
        for (name, parameter) in parameters {
            if let Some(value) = state.get(name) {
                parameter.copy_(value)?;
            }
        }
        Ok(())
    })
}

/// A description of each name or shape in which the two differ.
fn mismatches(parameters: &[(String, Tensor)], state: &StateDict) -> Vec<String> {
    let mut found = Vec::new();
    for (name, parameter) in parameters {
        match state.get(name) {
            None => found.push(format!("{name} is missing")),
            Some(value) if value.shape() != parameter.shape() => found.push(format!(
                "{name} has shape {:?} in the state and {:?} in the module",
                value.shape(),
                parameter.shape()
            )),
            Some(_) => {}
        }
    }
    let known = |name: &String| parameters.iter().any(|(own, _)| own == name);
    let unknown = state.keys().filter(|&name| !known(name));
    found.extend(unknown.map(|name| format!("{name} is not in the module")));
    found
}
