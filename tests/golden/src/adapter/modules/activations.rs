//! Activation functions as modules.

use super::module_row::{ModuleRow, module, one};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[ModuleRow] = &[
    module("nn.ReLU", "", |_| one(nn::ReLU)),
    module("nn.ReLU6", "", |_| one(nn::ReLU6)),
    module("nn.Sigmoid", "", |_| one(nn::Sigmoid)),
    module("nn.Tanh", "", |_| one(nn::Tanh)),
    module("nn.SiLU", "", |_| one(nn::SiLU)),
    module("nn.Mish", "", |_| one(nn::Mish)),
    module("nn.SELU", "", |_| one(nn::SELU)),
    module("nn.Hardsigmoid", "", |_| one(nn::Hardsigmoid)),
    module("nn.Hardswish", "", |_| one(nn::Hardswish)),
    module("nn.LogSigmoid", "", |_| one(nn::LogSigmoid)),
    module("nn.Softsign", "", |_| one(nn::Softsign)),
    module("nn.Tanhshrink", "", |_| one(nn::Tanhshrink)),
    module("nn.Softmax2d", "", |_| one(nn::Softmax2d)),
    module("nn.GELU", "approximate='none'", |c| match c.get("approximate")? {
        "none" => one(nn::GELU),
        other => Err(CaseFailure::Unsupported(format!("the approximation {other}"))),
    }),
    module("nn.LeakyReLU", "negative_slope=0.01", |c| {
        one(nn::LeakyReLU::new(c.get("negative_slope")?))
    }),
    module("nn.ELU", "alpha=1.0", |c| one(nn::ELU::new(c.get("alpha")?))),
    module("nn.CELU", "alpha=1.0", |c| one(nn::CELU::new(c.get("alpha")?))),
    module("nn.Hardtanh", "min_val=-1.0, max_val=1.0", |c| {
        one(nn::Hardtanh::new(c.get("min_val")?, c.get("max_val")?))
    }),
    module("nn.Softplus", "beta=1.0, threshold=20.0", |c| {
        one(nn::Softplus::new(c.get("beta")?, c.get("threshold")?))
    }),
    module("nn.Softshrink", "lambd=0.5", |c| one(nn::Softshrink::new(c.get("lambd")?))),
    module("nn.Hardshrink", "lambd=0.5", |c| one(nn::Hardshrink::new(c.get("lambd")?))),
    module("nn.Threshold", "threshold, value", |c| {
        one(nn::Threshold::new(c.get("threshold")?, c.get("value")?))
    }),
    module("nn.GLU", "dim=-1", |c| one(nn::GLU::new(c.get("dim")?))),
    module("nn.Softmax", "dim", |c| one(nn::Softmax::new(c.get("dim")?))),
    module("nn.Softmin", "dim", |c| one(nn::Softmin::new(c.get("dim")?))),
    module("nn.LogSoftmax", "dim", |c| one(nn::LogSoftmax::new(c.get("dim")?))),
    module("nn.PReLU", "num_parameters=1", |c| one(nn::PReLU::new(c.get("num_parameters")?)?)),
    module("nn.Dropout", "p=0.5", |c| one(nn::Dropout::new(c.get("p")?)?)),
    module("nn.Dropout1d", "p=0.5", |c| one(nn::Dropout1d::new(c.get("p")?)?)),
    module("nn.Dropout2d", "p=0.5", |c| one(nn::Dropout2d::new(c.get("p")?)?)),
    module("nn.Dropout3d", "p=0.5", |c| one(nn::Dropout3d::new(c.get("p")?)?)),
    module("nn.AlphaDropout", "p=0.5", |c| one(nn::AlphaDropout::new(c.get("p")?)?)),
    module("nn.FeatureAlphaDropout", "p=0.5", |c| one(nn::FeatureAlphaDropout::new(c.get("p")?)?)),
];
