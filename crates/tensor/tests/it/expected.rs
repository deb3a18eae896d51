//! What PyTorch gave: the cases of `tests/expected/*.json`, and comparisons with them.

use std::path::Path;

use half::{bf16, f16};
use serde_json::Value;
use tensor::{DType, Device, Element, Result, Tensor, with_default_dtype};

/// One case: an operation, its inputs and other arguments, and what it must give.
pub(crate) struct Case(Value);

/// The cases of a family, as `generate.py` wrote them.
pub(crate) fn cases(family: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expected/{family}.json"));
    let text = std::fs::read_to_string(&path).expect("generate.py wrote the file");
    let mut file: Value = serde_json::from_str(&text).expect("the file is JSON");
    let Value::Array(cases) = file["cases"].take() else { panic!("{family}: no cases") };
    cases.into_iter().map(Case).collect()
}

impl Case {
    pub(crate) fn op(&self) -> &str {
        self.text("op")
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_else(|| panic!("no {field} in {}", self.0))
    }

    pub(crate) fn raw(&self, field: &str) -> &Value {
        &self.0[field]
    }

    /// An argument that is not a tensor.
    pub(crate) fn arg(&self, name: &str) -> &Value {
        &self.0["args"][name]
    }

    pub(crate) fn float(&self, name: &str) -> f64 {
        self.arg(name).as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.0["args"]))
    }

    pub(crate) fn int(&self, name: &str) -> isize {
        self.arg(name).as_i64().unwrap_or_else(|| panic!("no {name} in {}", self.0["args"]))
            as isize
    }

    pub(crate) fn ints<T: TryFrom<i64>>(&self, name: &str) -> Vec<T> {
        let list = self.arg(name).as_array().unwrap_or_else(|| panic!("no {name} in {}", self.0));
        let number = |item: &Value| T::try_from(item.as_i64().expect("an integer")).ok();
        list.iter().map(|item| number(item).expect("fits")).collect()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.arg(name).as_bool().unwrap_or(false)
    }

    pub(crate) fn inputs(&self, device: Device) -> Result<Vec<Tensor>> {
        self.tensors("inputs", device)
    }

    pub(crate) fn tensors(&self, field: &str, device: Device) -> Result<Vec<Tensor>> {
        let list = self.0[field].as_array().unwrap_or_else(|| panic!("no {field} in {}", self.0));
        list.iter().map(|item| tensor_of(item, device)).collect()
    }

    pub(crate) fn tensor(&self, field: &str, device: Device) -> Result<Tensor> {
        tensor_of(&self.0[field], device)
    }

    /// The case in an assertion's message.
    pub(crate) fn describe(&self) -> String {
        let shapes: Vec<String> = self.0["inputs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|input| format!("{}{}", input["dtype"].as_str().unwrap_or(""), input["shape"]))
            .collect();
        format!("{}({}; {})", self.op(), shapes.join(", "), self.0["args"])
    }
}

/// Asserts that `actual` has the dtype, the shape and, within rounding, the numbers of `expected`.
pub(crate) fn assert_is(actual: &Tensor, expected: &Value, what: &str) -> Result<()> {
    let dtype = dtype_of(expected);
    assert_eq!(actual.dtype(), dtype, "{what}: dtype");
    assert_eq!(actual.shape(), shape_of(expected), "{what}: shape");
    let numbers = actual.to(Device::Cpu)?.to(DType::F64)?.to_vec::<f64>()?;
    let wanted = floats(expected);
    let (relative, absolute) = tolerance(dtype);
    for (position, (&a, &e)) in numbers.iter().zip(&wanted).enumerate() {
        let close =
            a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= absolute + relative * e.abs();
        assert!(
            close,
            "{what}: {a} where PyTorch has {e}, at {position} of {numbers:?} / {wanted:?}"
        );
    }
    Ok(())
}

/// Asserts that `actual` has the dtype and the shape of `expected`, and numbers that differ by no more
/// than the tolerance times the largest size among them: for what is computed in many steps.
pub(crate) fn assert_near(
    actual: &Tensor,
    expected: &Value,
    tolerance: f64,
    what: &str,
) -> Result<()> {
    assert_eq!(actual.dtype(), dtype_of(expected), "{what}: dtype");
    assert_eq!(actual.shape(), shape_of(expected), "{what}: shape");
    let numbers = actual.to((DType::F64, Device::Cpu))?.to_vec::<f64>()?;
    let wanted = floats(expected);
    let largest = wanted.iter().fold(1.0, |largest: f64, number| largest.max(number.abs()));
    for (a, e) in numbers.iter().zip(&wanted) {
        let close = (a - e).abs() <= tolerance * largest;
        assert!(close, "{what}: {a} where PyTorch has {e}, of {numbers:?} / {wanted:?}");
    }
    Ok(())
}

/// A tensor of the file's form, on a device.
pub(crate) fn tensor_of(value: &Value, device: Device) -> Result<Tensor> {
    let shape = shape_of(value);
    match dtype_of(value) {
        DType::F16 => make(floats(value).into_iter().map(f16::from_f64), shape, device),
        DType::F32 => make(floats(value).into_iter().map(|v| v as f32), shape, device),
        DType::BF16 => make(floats(value).into_iter().map(bf16::from_f64), shape, device),
        DType::F64 => make(floats(value).into_iter(), shape, device),
        DType::I64 => make(integers(value), shape, device),
        DType::I32 => make(integers(value).map(|v| v as i32), shape, device),
        DType::I16 => make(integers(value).map(|v| v as i16), shape, device),
        DType::I8 => make(integers(value).map(|v| v as i8), shape, device),
        DType::U8 => make(integers(value).map(|v| v as u8), shape, device),
        DType::Bool => make(data(value).map(|v| v.as_bool().expect("a bool")), shape, device),
    }
}

pub(crate) fn dtype_named(name: &str) -> DType {
    DType::ALL.into_iter().find(|dtype| dtype.short_name() == name).expect("a dtype's name")
}

/// Runs a body with the default dtype that the name says.
pub(crate) fn with_default<R>(name: &str, body: impl FnOnce() -> R) -> R {
    with_default_dtype(dtype_named(name), body).expect("a floating-point dtype")
}

fn make<T: Element>(
    elements: impl Iterator<Item = T>,
    shape: Vec<usize>,
    device: Device,
) -> Result<Tensor> {
    Tensor::from_vec(elements.collect(), shape, device)
}

fn dtype_of(value: &Value) -> DType {
    dtype_named(value["dtype"].as_str().unwrap_or_else(|| panic!("no tensor: {value}")))
}

fn shape_of(value: &Value) -> Vec<usize> {
    let sizes = value["shape"].as_array().unwrap_or_else(|| panic!("no tensor: {value}"));
    sizes.iter().map(|size| size.as_u64().expect("a size") as usize).collect()
}

fn data(value: &Value) -> impl Iterator<Item = &Value> {
    value["data"].as_array().unwrap_or_else(|| panic!("no tensor: {value}")).iter()
}

fn integers(value: &Value) -> impl Iterator<Item = i64> {
    data(value).map(|item| item.as_i64().expect("an integer"))
}

fn floats(value: &Value) -> Vec<f64> {
    let float = |item: &Value| match item {
        Value::String(text) => text.parse().expect("nan, inf or -inf"),
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        number => number.as_f64().expect("a number"),
    };
    data(value).map(float).collect()
}

/// Relative and absolute; integers and truth values are exact.
fn tolerance(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (2e-3, 1e-3),
        DType::F32 => (2e-5, 2e-6),
        DType::F64 => (1e-12, 1e-12),
        DType::BF16 => (1.6e-2, 1e-2),
        _ => (0.0, 0.0),
    }
}
