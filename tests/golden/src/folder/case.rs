//! The fields of cases by kind.

use serde::Deserialize;

use super::WrittenValue;

/// The fields that all cases have, but for those that say what is expected.
#[derive(Deserialize, Debug)]
pub(crate) struct CaseHeader {
    pub(crate) id: usize,
    pub(crate) kind: String,
    pub(crate) op: String,
    pub(crate) variant: String,
    pub(crate) dtype: Option<String>,
    pub(crate) stage: Option<u32>,
    pub(crate) error: Option<String>,
    pub(crate) saved_bytes: Option<u64>,
}

/// A case of kind `op`.
#[derive(Deserialize, Debug)]
pub(crate) struct OpCase {
    pub(crate) op: String,
    pub(crate) error: Option<String>,
    pub(crate) args: Vec<WrittenValue>,
    pub(crate) kwargs: WrittenValue,
    #[serde(default)]
    pub(crate) inplace: bool,
    #[serde(default)]
    pub(crate) direct: bool,
    pub(crate) relation: Option<String>,
    #[serde(default)]
    pub(crate) checks: WrittenValue,
    #[serde(default)]
    pub(crate) outputs: Vec<WrittenValue>,
    #[serde(default)]
    pub(crate) rtol: f64,
    #[serde(default)]
    pub(crate) atol: f64,
    #[serde(flatten)]
    pub(crate) gradients: ExpectedGradients,
}

/// A case of kind `module`.
#[derive(Deserialize, Debug)]
pub(crate) struct ModuleCase {
    pub(crate) op: String,
    /// `train` or `eval`.
    pub(crate) variant: String,
    pub(crate) dtype: String,
    /// The arguments of the constructor: `args` and `kwargs`.
    pub(crate) constructor: WrittenValue,
    /// Parameters and buffers by name.
    #[serde(default)]
    pub(crate) state: WrittenValue,
    pub(crate) args: Vec<WrittenValue>,
    #[serde(default)]
    pub(crate) kwargs: WrittenValue,
    #[serde(default)]
    pub(crate) checks: WrittenValue,
    #[serde(default)]
    pub(crate) outputs: Vec<WrittenValue>,
    /// The buffers that the call changes, by name.
    #[serde(default)]
    pub(crate) buffers_after: WrittenValue,
    /// The gradients of the parameters by name.
    #[serde(default)]
    pub(crate) param_grads: WrittenValue,
    #[serde(default)]
    pub(crate) rtol: f64,
    #[serde(default)]
    pub(crate) atol: f64,
    #[serde(flatten)]
    pub(crate) gradients: ExpectedGradients,
}

/// The part of a case that asks for gradients.
#[derive(Deserialize, Debug)]
pub(crate) struct ExpectedGradients {
    #[serde(default)]
    pub(crate) cotangents: Vec<WrittenValue>,
    pub(crate) grads: Option<Vec<WrittenValue>>,
    #[serde(default)]
    pub(crate) grad_rtol: f64,
    #[serde(default)]
    pub(crate) grad_atol: f64,
    /// The weights of the gradients in the sum that is differentiated again.
    #[serde(default)]
    pub(crate) weights: Vec<WrittenValue>,
    pub(crate) grads2: Option<Vec<WrittenValue>>,
}

/// A case of kind `program`.
#[derive(Deserialize, Debug)]
pub(crate) struct ProgramCase {
    pub(crate) leaves: Vec<WrittenValue>,
    pub(crate) steps: Vec<ExamStep>,
    #[serde(default)]
    pub(crate) results: Vec<usize>,
    #[serde(default)]
    pub(crate) requires_grad: Vec<bool>,
    #[serde(default)]
    pub(crate) outputs: Vec<WrittenValue>,
    #[serde(default)]
    pub(crate) rtol: f64,
    #[serde(default)]
    pub(crate) atol: f64,
    /// The number of the step that must fail, or `"backward"`.
    #[serde(default)]
    pub(crate) error_at: WrittenValue,
    #[serde(flatten)]
    pub(crate) gradients: ExpectedGradients,
}

/// A step of a program.
#[derive(Deserialize, Debug)]
pub(crate) struct ExamStep {
    pub(crate) op: String,
    pub(crate) args: Vec<WrittenValue>,
    #[serde(default)]
    pub(crate) kwargs: WrittenValue,
    #[serde(default)]
    pub(crate) no_grad: bool,
}

/// A case of kind `optim`.
#[derive(Deserialize, Debug)]
pub(crate) struct OptimCase {
    pub(crate) op: String,
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) kwargs: WrittenValue,
    #[serde(default)]
    pub(crate) params: Vec<WrittenValue>,
    /// The gradients of each parameter, one for each step; or those that are clipped.
    #[serde(default)]
    pub(crate) slopes: Vec<WrittenValue>,
    /// The positions of the parameters of each group, and its options.
    pub(crate) groups: Option<Vec<WrittenValue>>,
    #[serde(default)]
    pub(crate) targets: Vec<WrittenValue>,
    /// The first learning rate of each group.
    #[serde(default)]
    pub(crate) base: Vec<f64>,
    #[serde(default)]
    pub(crate) momentum: f64,
    #[serde(default)]
    pub(crate) metrics: Vec<f64>,
    #[serde(default)]
    pub(crate) outputs: Vec<WrittenValue>,
    #[serde(default)]
    pub(crate) rtol: f64,
    #[serde(default)]
    pub(crate) atol: f64,
}

/// A timed shape.
#[derive(Deserialize, Debug)]
pub(crate) struct TimedShape {
    pub(crate) id: usize,
    pub(crate) op: String,
    pub(crate) mode: String,
    pub(crate) args: Vec<WrittenValue>,
    pub(crate) kwargs: WrittenValue,
}
