//! Tensors as the pickle describes them: calls that would rebuild them.

use pickle::PickleValue;
use tensor::DType;

use super::dtypes::{PARAMETER, TENSORS, dtype_of};

/// A tensor that a file holds.
#[derive(Debug)]
pub(super) struct TensorRecord {
    /// The key of its storage in the archive.
    pub(super) storage: String,
    /// The number of elements of the storage.
    pub(super) numel: usize,
    /// The dtype, or PyTorch's name of one that there is not here.
    pub(super) dtype: Result<DType, &'static str>,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<isize>,
}

/// The most parameters that are made of each other. One is what there is.
const MAX_WRAPPED: usize = 4;

/// The tensor that a call would rebuild; none if it would make something else.
///
/// # Errors
/// The arguments are not those of PyTorch.
pub(super) fn tensor(mut call: PickleValue<'_>) -> Result<Option<TensorRecord>, &'static str> {
    for _ in 0..MAX_WRAPPED {
        let Some((function, arguments)) = call.call() else { return Err(ARGUMENTS) };
        let mut arguments = arguments.items().ok_or(ARGUMENTS)?;
        if function == PARAMETER {
            call = arguments.next().ok_or(ARGUMENTS)?;
        } else if TENSORS.contains(&function) {
            let arguments: Vec<_> = arguments.take(9).collect();
            return record(&arguments, function == TENSORS[2]).map(Some);
        } else {
            return Ok(None);
        }
    }
    Err(ARGUMENTS)
}

const ARGUMENTS: &str = "a tensor is not described as PyTorch does it";

/// A tensor by its arguments: storage, offset, sizes, strides, whether it requires gradients, hooks,
/// with `has_dtype` the dtype, and what else is to be done with the elements.
fn record(arguments: &[PickleValue<'_>], has_dtype: bool) -> Result<TensorRecord, &'static str> {
    let [storage, offset, shape, strides, rest @ ..] = arguments else { return Err(ARGUMENTS) };
    // After the flag and the hooks.
    let rest = rest.get(2..).unwrap_or_default();
    let (dtype, metadata) = match (has_dtype, rest) {
        (true, [dtype, rest @ ..]) => (Some(dtype), rest),
        (true, []) => return Err(ARGUMENTS),
        (false, rest) => (None, rest),
    };
    let is_plain = |value: &PickleValue<'_>| {
        value.is_none() || value.entries().is_some_and(|entries| entries.len() == 0)
    };
    if !metadata.iter().all(is_plain) {
        return Err("a tensor is to be conjugated or negated when it is read; save x.clone()");
    }
    let id = storage.persistent_id().and_then(|id| id.items()).ok_or(ARGUMENTS)?;
    let id: Vec<_> = id.take(6).collect();
    let [kind, class, key, _device, numel] = id[..] else { return Err(ARGUMENTS) };
    if kind.text().is_none_or(|kind| **kind != *"storage") {
        return Err(ARGUMENTS);
    }
    let class = dtype.copied().unwrap_or(class).global().ok_or(ARGUMENTS)?;
    Ok(TensorRecord {
        storage: key.text().ok_or(ARGUMENTS)?.to_string(),
        numel: number(numel)?,
        dtype: dtype_of(class).ok_or(class.name),
        offset: number(*offset)?,
        shape: numbers(*shape)?,
        strides: numbers(*strides)?,
    })
}

fn number<T: TryFrom<i128>>(value: PickleValue<'_>) -> Result<T, &'static str> {
    value.int().and_then(|number| T::try_from(number).ok()).ok_or(ARGUMENTS)
}

/// The most sizes that are read. A tensor has fewer.
const MAX_SIZES: usize = 256;

fn numbers<T: TryFrom<i128>>(value: PickleValue<'_>) -> Result<Vec<T>, &'static str> {
    let items = value.items().filter(|items| items.len() <= MAX_SIZES).ok_or(ARGUMENTS)?;
    items.map(number).collect()
}
