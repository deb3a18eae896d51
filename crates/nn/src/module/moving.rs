//! Tensors of a module that others take the place of, all or none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tensor::{Error, MovedLeaf, Tensor, TensorId, To};

use super::{Member, MemberMut, Module};
use crate::Result;

/// A parameter or a buffer.
enum StateTensor {
    Parameter(Tensor),
    Buffer(Tensor),
}

/// Moves all tensors of a module. It is a loop and no closure, which would lose the place of the
/// caller that an error names.
#[track_caller]
pub(super) fn to(module: &mut (dyn Module + 'static), target: To) -> Result<()> {
    if let Some(dtype) = target.dtype().filter(|dtype| !dtype.is_float()) {
        return Err(Error::InvalidArgument {
            op: "Module::to",
            argument: "dtype",
            value: dtype.to_string(),
            why: "a module's parameters are of a floating-point dtype",
        });
    }
    let mut leaves: Vec<MovedLeaf> = Vec::new();
    let mut replacements = HashMap::new();
    for tensor in tensors(module) {
        let (StateTensor::Parameter(old) | StateTensor::Buffer(old)) = &tensor;
        if replacements.contains_key(&old.id()) {
            continue;
        }
        let Some(target) = for_dtype(target, old) else { continue };
        let new = match &tensor {
            StateTensor::Parameter(old) => {
                let leaf = old.moved_leaf(target)?;
                let new = leaf.tensor().clone();
                leaves.push(leaf);
                new
            }
            StateTensor::Buffer(old) => old.to(target)?,
        };
        replacements.insert(old.id(), new);
    }
    replace(module, &replacements)?;
    for leaf in leaves {
        leaf.take_over();
    }
    Ok(())
}

/// The target for one tensor: only floating-point ones are converted. None if it stays.
fn for_dtype(target: To, tensor: &Tensor) -> Option<To> {
    if tensor.dtype().is_float() { Some(target) } else { target.device().map(To::from) }
}

/// Puts what `make` gives in the place of each tensor.
pub(super) fn replace_tensors(
    module: &mut (dyn Module + 'static),
    make: &mut dyn FnMut(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    let mut replacements = HashMap::new();
    for StateTensor::Parameter(old) | StateTensor::Buffer(old) in tensors(module) {
        if let Entry::Vacant(place) = replacements.entry(old.id()) {
            place.insert(make(&old)?);
        }
    }
    replace(module, &replacements)
}

fn tensors(module: &dyn Module) -> Vec<StateTensor> {
    let mut found = Vec::new();
    for (_, module) in module.named_modules() {
        module.visit(&mut |_, member| match member {
            Member::Parameter(tensor) => found.push(StateTensor::Parameter(tensor.clone())),
            Member::Buffer(tensor) | Member::NonPersistentBuffer(tensor) => {
                found.push(StateTensor::Buffer(tensor.clone()));
            }
            Member::Module(_) | Member::Training(_) => {}
        });
    }
    found
}

fn replace(
    module: &mut (dyn Module + 'static),
    replacements: &HashMap<TensorId, Tensor>,
) -> Result<()> {
    module.visit_mut(&mut |_, member| {
        match member {
            MemberMut::Parameter(tensor)
            | MemberMut::Buffer(tensor)
            | MemberMut::NonPersistentBuffer(tensor) => {
                if let Some(new) = replacements.get(&tensor.id()) {
                    *tensor = new.clone();
                }
            }
            MemberMut::Module(child) => replace(child, replacements)?,
            MemberMut::Training(_) => {}
        }
        Ok(())
    })
}
