//! The table from PyTorch's modules to the library's: the signature of the constructor, and the
//! module that it makes. A file for each family; a new one is a list of rows more in [`table`].

mod activations;
mod images;
mod layers;
mod losses;
mod recurrent;

use std::collections::HashMap;
use std::sync::OnceLock;

use nn::{Forward, Module};
use tensor::{DType, Device, Tensor};

use super::rows::BoundCall;
use super::signature::OperationSignature;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// A module that a case is about.
pub(crate) trait ExamModule {
    /// The module, to be loaded.
    fn module(&mut self) -> &mut dyn Module;

    /// Moves the module.
    ///
    /// # Errors
    /// The library gave an error.
    fn to(&mut self, device: Device, dtype: DType) -> tensor::Result<()>;

    /// The outputs for these inputs.
    ///
    /// # Errors
    /// The module takes other inputs; the library gave an error.
    fn call(&self, inputs: &[CaseArgument]) -> Result<Vec<Tensor>, CaseFailure>;
}

/// The result of a constructor.
type BuiltModule = Result<Box<dyn ExamModule>, CaseFailure>;

/// A module with the signature of its constructor.
struct ModuleRow {
    name: &'static str,
    signature: &'static str,
    build: fn(&BoundCall) -> BuiltModule,
}

const fn module(
    name: &'static str,
    signature: &'static str,
    build: fn(&BoundCall) -> BuiltModule,
) -> ModuleRow {
    ModuleRow { name, signature, build }
}

/// Builds a module from the arguments of PyTorch's constructor.
///
/// # Errors
/// There is no such module, or its constructor has no such arguments; the library gave an error.
pub(crate) fn build(
    name: &str,
    args: &[CaseArgument],
    kwargs: &[(String, CaseArgument)],
    device: Device,
) -> BuiltModule {
    let unsupported = |why: &str| CaseFailure::Unsupported(format!("{name}: {why}"));
    let row = table().get(name).ok_or_else(|| unsupported("no such module"))?;
    let arguments = OperationSignature::parse(row.signature).bind(args, kwargs);
    let arguments = arguments.map_err(|why| unsupported(&why))?;
    (row.build)(&BoundCall { device, arguments })
}

/// The names of all modules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    table().keys().copied()
}

/// The rows by name.
fn table() -> &'static HashMap<&'static str, &'static ModuleRow> {
    static TABLE: OnceLock<HashMap<&'static str, &'static ModuleRow>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let families = [
            activations::ROWS,
            images::ROWS,
            layers::ROWS,
            losses::ROWS,
            losses::OF_PAIRS,
            losses::OTHERS,
            recurrent::ROWS,
        ];
        families.into_iter().flatten().map(|row| (row.name, row)).collect()
    })
}

/// A module with the way in which it is called.
struct CalledModule<M> {
    module: M,
    call: fn(&M, &[CaseArgument]) -> Result<Vec<Tensor>, CaseFailure>,
}

impl<M: Module> ExamModule for CalledModule<M> {
    fn module(&mut self) -> &mut dyn Module {
        &mut self.module
    }

    fn to(&mut self, device: Device, dtype: DType) -> tensor::Result<()> {
        self.module.to((device, dtype))
    }

    fn call(&self, inputs: &[CaseArgument]) -> Result<Vec<Tensor>, CaseFailure> {
        (self.call)(&self.module, inputs)
    }
}

/// A module of one tensor.
fn one<M: Forward<Tensor, Output = Tensor> + 'static>(module: M) -> BuiltModule {
    let call = |module: &M, inputs: &[CaseArgument]| {
        let [x] = tensors(inputs)?;
        Ok(vec![module.forward(&x)?])
    };
    Ok(Box::new(CalledModule { module, call }))
}

/// A module of two tensors.
fn two<M: Forward<(Tensor, Tensor), Output = Tensor> + 'static>(module: M) -> BuiltModule {
    let call =
        |module: &M, inputs: &[CaseArgument]| Ok(vec![module.forward(&tensors(inputs)?.into())?]);
    Ok(Box::new(CalledModule { module, call }))
}

/// A module of three tensors.
fn three<M>(module: M) -> BuiltModule
where
    M: Forward<(Tensor, Tensor, Tensor), Output = Tensor> + 'static,
{
    let call =
        |module: &M, inputs: &[CaseArgument]| Ok(vec![module.forward(&tensors(inputs)?.into())?]);
    Ok(Box::new(CalledModule { module, call }))
}

/// The inputs, of which there are so many, all tensors.
fn tensors<const N: usize>(inputs: &[CaseArgument]) -> Result<[Tensor; N], CaseFailure> {
    let tensor = |input: &CaseArgument| match input {
        CaseArgument::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    };
    let all: Option<Vec<Tensor>> = inputs.iter().map(tensor).collect();
    let found = all.and_then(|all| all.try_into().ok());
    found.ok_or_else(|| CaseFailure::Unsupported(format!("a call with other than {N} tensors")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constructor_can_be_read() {
        for row in table().values() {
            OperationSignature::parse(row.signature);
        }
    }
}
