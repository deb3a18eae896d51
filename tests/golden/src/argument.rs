//! Arguments of operations: what Python would be given, with tensors of the library.

use tensor::{DType, Device, Tensor};

use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, StoredTensor, WrittenValue};

/// An argument of a call.
#[derive(Clone)]
pub(crate) enum CaseArgument {
    None,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<CaseArgument>),
    DType(DType),
    Slice([Option<i64>; 3]),
    Ellipsis,
    /// The name of a memory format.
    MemoryFormat(String),
    Tensor(Tensor),
}

/// Reads the arguments of a case, and keeps the tensors among them in order.
pub(crate) struct ArgumentReader<'a> {
    folder: &'a CaseFolder,
    device: Device,
    /// The inputs of the case.
    pub(crate) inputs: Vec<Tensor>,
}

impl<'a> ArgumentReader<'a> {
    pub(crate) fn new(folder: &'a CaseFolder, device: Device) -> ArgumentReader<'a> {
        ArgumentReader { folder, device, inputs: Vec::new() }
    }

    /// The arguments by position.
    ///
    /// # Errors
    /// The library has no such dtype; a tensor could not be made.
    pub(crate) fn values(
        &mut self,
        written: &[WrittenValue],
    ) -> Result<Vec<CaseArgument>, CaseFailure> {
        written.iter().map(|value| self.value(value)).collect()
    }

    /// The arguments by name.
    ///
    /// # Errors
    /// As [`ArgumentReader::values`].
    pub(crate) fn entries(
        &mut self,
        written: &WrittenValue,
    ) -> Result<Vec<(String, CaseArgument)>, CaseFailure> {
        let entry = |(name, value): &(String, WrittenValue)| Ok((name.clone(), self.value(value)?));
        written.entries().iter().map(entry).collect()
    }

    /// One argument.
    ///
    /// # Errors
    /// As [`ArgumentReader::values`].
    pub(crate) fn value(&mut self, written: &WrittenValue) -> Result<CaseArgument, CaseFailure> {
        if let Some(stored) = StoredTensor::of(written) {
            let tensor = self.tensor(&stored)?;
            self.inputs.push(tensor.clone());
            return Ok(CaseArgument::Tensor(tensor));
        }
        match written {
            WrittenValue::Null => Ok(CaseArgument::None),
            WrittenValue::Truth(value) => Ok(CaseArgument::Truth(*value)),
            WrittenValue::Integer(value) => Ok(CaseArgument::Integer(*value)),
            WrittenValue::Float(value) => Ok(CaseArgument::Float(*value)),
            WrittenValue::Text(text) => Ok(CaseArgument::Text(text.clone())),
            WrittenValue::List(items) => Ok(CaseArgument::List(self.values(items)?)),
            WrittenValue::Object(_) => special(written),
        }
    }

    /// The tensor that is described, on the device. What lies between its elements is there too.
    ///
    /// # Errors
    /// As [`ArgumentReader::values`].
    pub(crate) fn tensor(&self, stored: &StoredTensor) -> Result<Tensor, CaseFailure> {
        let dtype = dtype(&stored.dtype)?;
        let bytes =
            self.folder.storage(stored).map_err(|e| CaseFailure::Elsewhere(format!("{e:#}")))?;
        let made = || {
            let bytes = Tensor::from_vec(bytes.to_vec(), [bytes.len()], Device::Cpu)?;
            let storage = Tensor::from_storage(bytes.storage(), dtype)?.to(self.device)?;
            let view = storage.as_strided(&*stored.shape, &stored.strides, stored.offset)?;
            if stored.grad { view.requires_grad_(true) } else { Ok(view) }
        };
        made().map_err(CaseFailure::of_preparation)
    }
}

/// The dtype with this short name.
///
/// # Errors
/// The library has no such dtype.
pub(crate) fn dtype(name: &str) -> Result<DType, CaseFailure> {
    let found = DType::ALL.into_iter().find(|dtype| dtype.short_name() == name);
    found.ok_or_else(|| CaseFailure::Unsupported(format!("dtype {name}")))
}

/// A value that JSON has no form for.
fn special(written: &WrittenValue) -> Result<CaseArgument, CaseFailure> {
    if let Some(number) = written.float() {
        return Ok(CaseArgument::Float(number));
    }
    if let Some(name) = written.only("dtype").and_then(WrittenValue::text) {
        return Ok(CaseArgument::DType(dtype(name)?));
    }
    if let Some(name) = written.only("memory_format").and_then(WrittenValue::text) {
        return Ok(CaseArgument::MemoryFormat(name.to_owned()));
    }
    if let Some([begin, end, step]) = written.only("slice").map(WrittenValue::items) {
        return Ok(CaseArgument::Slice([begin.integer(), end.integer(), step.integer()]));
    }
    if written.only("ellipsis").is_some() {
        return Ok(CaseArgument::Ellipsis);
    }
    Err(CaseFailure::Unsupported(format!("the value {written:?}")))
}
