//! State dicts: the tensors of a module by name, and loading them.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

pub use serialization::StateDict;
use tensor::{Tensor, no_grad};

/// The reason why a state dict could not be loaded.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Names or shapes do not fit; each entry says which.
    #[error("the state does not fit: {}", .0.join("; "))]
    Mismatch(Vec<String>),
    /// A value could not be copied.
    #[error(transparent)]
    Tensor(#[from] tensor::Error),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error among those of tensors, for functions that do both.
impl From<StateError> for tensor::Error {
    fn from(error: StateError) -> tensor::Error {
        match error {
            StateError::Tensor(error) => error,
            error => tensor::Error::other(error),
        }
    }
}

/// The names that did not meet when a state dict was loaded. Prints itself as PyTorch does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// The module's own names that the state has not; their tensors are as before.
    pub missing: Vec<String>,
    /// The state's names that the module has not, as the state spells them.
    pub unexpected: Vec<String>,
}

impl LoadReport {
    /// Whether all names met.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete() {
            return f.write_str("<All keys matched successfully>");
        }
        write!(f, "missing: {:?}, unexpected: {:?}", self.missing, self.unexpected)
    }
}

/// A function that renames an entry of a state dict, or drops it.
type Rename<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The way in which a state dict is loaded: strictly, unless it says otherwise.
///
/// ```
/// use nn::{Linear, LoadOptions, Module};
/// let mut layer = Linear::new(3, 2)?;
/// // Of a program whose layer was called `fc`, and had something else beside it.
/// let mut state: nn::StateDict =
///     layer.state_dict().into_iter().map(|(name, value)| (format!("fc.{name}"), value)).collect();
/// state.insert("head.bias".to_owned(), state["fc.bias"].clone());
///
/// let options = LoadOptions::new()
///     .rename(|name| Some(name.strip_prefix("fc.").unwrap_or(name).to_owned()))
///     .lenient();
/// let report = layer.load_state_dict_with(&state, &options)?;
/// assert!(report.missing.is_empty());
/// assert_eq!(report.unexpected, ["head.bias"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct LoadOptions<'a> {
    lenient: bool,
    rename: Option<Box<Rename<'a>>>,
}

impl<'a> LoadOptions<'a> {
    /// Strict loading: all names and shapes fit, or it is an error.
    pub fn new() -> LoadOptions<'a> {
        LoadOptions::default()
    }

    /// Lets names be missing and unknown (`strict=False`). Shapes must fit all the same.
    #[must_use]
    pub fn lenient(mut self) -> LoadOptions<'a> {
        self.lenient = true;
        self
    }

    /// Looks for the state's names under those that `rename` gives; an entry for which it gives
    /// none is left out.
    #[must_use]
    pub fn rename(mut self, rename: impl Fn(&str) -> Option<String> + 'a) -> LoadOptions<'a> {
        self.rename = Some(Box::new(rename));
        self
    }

    /// Copies `state` into the tensors after checking all of it.
    pub(crate) fn load(
        &self,
        tensors: &[(String, Tensor)],
        state: &StateDict,
    ) -> Result<LoadReport, StateError> {
        let mut problems = Vec::new();
        let renamed = self.renamed(state, &mut problems);
        let mut report = LoadReport::default();
        for (name, tensor) in tensors {
            match renamed.get(name) {
                None => report.missing.push(name.clone()),
                Some((_, value)) => problems.extend(misfit(name, tensor, value)),
            }
        }
        let known: HashSet<_> = tensors.iter().map(|(name, _)| name).collect();
        let unknown = renamed.iter().filter(|(name, _)| !known.contains(name));
        report.unexpected.extend(unknown.map(|(_, (original, _))| (*original).clone()));
        if !self.lenient {
            problems.extend(report.missing.iter().map(|name| format!("{name} is missing")));
            let unexpected = report.unexpected.iter();
            problems.extend(unexpected.map(|name| format!("{name} is not in the module")));
        }
        if !problems.is_empty() {
            return Err(StateError::Mismatch(problems));
        }
        no_grad(|| {
            for (name, tensor) in tensors {
                if let Some((_, value)) = renamed.get(name) {
                    tensor.copy_(value)?;
                }
            }
            Ok(report)
        })
    }

    /// The entries by the names that they are looked for under, with their own.
    fn renamed<'s>(
        &self,
        state: &'s StateDict,
        problems: &mut Vec<String>,
    ) -> BTreeMap<String, (&'s String, &'s Tensor)> {
        let mut renamed = BTreeMap::new();
        for (original, value) in state {
            let name = match &self.rename {
                Some(rename) => rename(original),
                None => Some(original.clone()),
            };
            let Some(name) = name else { continue };
            if let Some((other, _)) = renamed.insert(name.clone(), (original, value)) {
                problems.push(format!("{other} and {original} are both renamed to {name}"));
            }
        }
        renamed
    }
}

impl fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renames = self.rename.is_some();
        f.debug_struct("LoadOptions")
            .field("lenient", &self.lenient)
            .field("renames", &renames)
            .finish()
    }
}

/// The difference of a value's shape from its tensor's, in words.
pub(crate) fn misfit(name: &str, tensor: &Tensor, value: &Tensor) -> Option<String> {
    let (own, given) = (tensor.shape(), value.shape());
    (own != given)
        .then(|| format!("{name} has shape {given:?} in the state where it should be {own:?}"))
}
