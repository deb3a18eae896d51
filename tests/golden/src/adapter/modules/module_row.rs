//! Modules as the exam sees them, and the rows of their table.

use nn::{Forward, Module};
use tensor::{DType, Device, Tensor};

pub(super) use super::super::rows::BoundCall;
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

    /// The outputs for these inputs, by position and by name.
    ///
    /// # Errors
    /// The module takes other inputs; the library gave an error.
    fn call(
        &self,
        inputs: &[CaseArgument],
        keywords: &[(String, CaseArgument)],
    ) -> Result<Vec<Tensor>, CaseFailure>;
}

/// The result of a constructor.
pub(super) type BuiltModule = Result<Box<dyn ExamModule>, CaseFailure>;

/// A module with the signature of its constructor.
pub(super) struct ModuleRow {
    pub(super) name: &'static str,
    pub(super) signature: &'static str,
    pub(super) build: fn(&BoundCall) -> BuiltModule,
}

pub(super) const fn module(
    name: &'static str,
    signature: &'static str,
    build: fn(&BoundCall) -> BuiltModule,
) -> ModuleRow {
    ModuleRow { name, signature, build }
}

/// A module with the way in which it is called.
pub(super) struct CalledModule<M> {
    pub(super) module: M,
    pub(super) call: fn(&M, &[CaseArgument]) -> Result<Vec<Tensor>, CaseFailure>,
}

impl<M: Module> ExamModule for CalledModule<M> {
    fn module(&mut self) -> &mut dyn Module {
        &mut self.module
    }

    fn to(&mut self, device: Device, dtype: DType) -> tensor::Result<()> {
        self.module.to((device, dtype))
    }

    fn call(
        &self,
        inputs: &[CaseArgument],
        keywords: &[(String, CaseArgument)],
    ) -> Result<Vec<Tensor>, CaseFailure> {
        match keywords {
            [] => (self.call)(&self.module, inputs),
            // That of a module of one tensor may be given by its name.
            [(name, input)] if name == "input" && inputs.is_empty() => {
                (self.call)(&self.module, std::slice::from_ref(input))
            }
            _ => Err(CaseFailure::Unsupported("a call with keywords".to_owned())),
        }
    }
}

/// A module of one tensor.
pub(super) fn one<M: Forward<Tensor, Output = Tensor> + 'static>(module: M) -> BuiltModule {
    let call = |module: &M, inputs: &[CaseArgument]| {
        let [x] = tensors(inputs)?;
        Ok(vec![module.forward(&x)?])
    };
    Ok(Box::new(CalledModule { module, call }))
}

/// A module of two tensors.
pub(super) fn two<M: Forward<(Tensor, Tensor), Output = Tensor> + 'static>(
    module: M,
) -> BuiltModule {
    let call =
        |module: &M, inputs: &[CaseArgument]| Ok(vec![module.forward(&tensors(inputs)?.into())?]);
    Ok(Box::new(CalledModule { module, call }))
}

/// A module of three tensors.
pub(super) fn three<M>(module: M) -> BuiltModule
where
    M: Forward<(Tensor, Tensor, Tensor), Output = Tensor> + 'static,
{
    let call =
        |module: &M, inputs: &[CaseArgument]| Ok(vec![module.forward(&tensors(inputs)?.into())?]);
    Ok(Box::new(CalledModule { module, call }))
}

/// The inputs, of which there are so many, all tensors.
pub(super) fn tensors<const N: usize>(inputs: &[CaseArgument]) -> Result<[Tensor; N], CaseFailure> {
    let tensor = |input: &CaseArgument| match input {
        CaseArgument::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    };
    let all: Option<Vec<Tensor>> = inputs.iter().map(tensor).collect();
    let found = all.and_then(|all| all.try_into().ok());
    found.ok_or_else(|| CaseFailure::Unsupported(format!("a call with other than {N} tensors")))
}
