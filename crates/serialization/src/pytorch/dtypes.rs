//! PyTorch's names for what a file may ask for.

use pickle::GlobalName;
use tensor::DType;

const fn global(module: &'static str, name: &'static str) -> GlobalName {
    GlobalName { module, name }
}

/// Makes a tensor of a storage, an offset, sizes and strides.
pub(super) const TENSORS: [GlobalName; 3] = [
    global("torch._utils", "_rebuild_tensor"),
    global("torch._utils", "_rebuild_tensor_v2"),
    global("torch._utils", "_rebuild_tensor_v3"),
];

/// Makes a parameter of a tensor.
pub(super) const PARAMETER: GlobalName = global("torch._utils", "_rebuild_parameter");

/// The sizes of a tensor, as a value of their own.
const SIZE: GlobalName = global("torch", "Size");

/// The types of storages, with their dtypes.
const STORAGES: [(GlobalName, DType); 10] = [
    (global("torch", "DoubleStorage"), DType::F64),
    (global("torch", "FloatStorage"), DType::F32),
    (global("torch", "HalfStorage"), DType::F16),
    (global("torch", "BFloat16Storage"), DType::BF16),
    (global("torch", "LongStorage"), DType::I64),
    (global("torch", "IntStorage"), DType::I32),
    (global("torch", "ShortStorage"), DType::I16),
    (global("torch", "CharStorage"), DType::I8),
    (global("torch", "ByteStorage"), DType::U8),
    (global("torch", "BoolStorage"), DType::Bool),
];

/// Types of elements that there are not here. They are known so that an error can name the tensor.
const OTHERS: [GlobalName; 13] = [
    global("torch", "ComplexFloatStorage"),
    global("torch", "ComplexDoubleStorage"),
    global("torch.storage", "UntypedStorage"),
    global("torch", "uint16"),
    global("torch", "uint32"),
    global("torch", "uint64"),
    global("torch", "complex32"),
    global("torch", "float8_e4m3fn"),
    global("torch", "float8_e4m3fnuz"),
    global("torch", "float8_e5m2"),
    global("torch", "float8_e5m2fnuz"),
    global("torch", "float8_e8m0fnu"),
    global("torch", "float4_e2m1fn_x2"),
];

/// Everything that a file may ask for.
pub(super) fn allowed() -> Vec<GlobalName> {
    let storages = STORAGES.iter().map(|(name, _)| *name);
    TENSORS.into_iter().chain([PARAMETER, SIZE]).chain(storages).chain(OTHERS).collect()
}

/// The dtype of a storage's elements, if there is one here.
pub(super) fn dtype_of(storage: GlobalName) -> Option<DType> {
    STORAGES.iter().find(|(name, _)| *name == storage).map(|(_, dtype)| *dtype)
}
