//! Losses as modules.

use nn::Forward;
use tensor::{Reduction, Tensor};

use super::super::losses::lengths as lengths_of;
use super::super::rows::BoundCall;
use super::module_row::{CalledModule, ModuleRow, module, tensors, three, two};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// Losses of predictions and targets.
pub(super) static ROWS: &[ModuleRow] = &[
    module("nn.MSELoss", REDUCTION, |c| two(nn::MSELoss::new().reduction(reduction(c)?))),
    module("nn.L1Loss", REDUCTION, |c| two(nn::L1Loss::new().reduction(reduction(c)?))),
    module("nn.SoftMarginLoss", REDUCTION, |c| {
        two(nn::SoftMarginLoss::new().reduction(reduction(c)?))
    }),
    module("nn.MultiLabelMarginLoss", REDUCTION, |c| {
        two(nn::MultiLabelMarginLoss::new().reduction(reduction(c)?))
    }),
    module("nn.SmoothL1Loss", "*, reduction='mean', beta=1.0", |c| {
        two(nn::SmoothL1Loss::new().beta(c.get("beta")?).reduction(reduction(c)?))
    }),
    module("nn.HuberLoss", "reduction='mean', delta=1.0", |c| {
        two(nn::HuberLoss::new().delta(c.get("delta")?).reduction(reduction(c)?))
    }),
    module("nn.KLDivLoss", "*, reduction='mean', log_target=False", |c| {
        two(nn::KLDivLoss::new().log_target(c.get("log_target")?).reduction(reduction(c)?))
    }),
    module(
        "nn.PoissonNLLLoss",
        "log_input=True, full=False, *, eps=1e-08, reduction='mean'",
        |c| {
            let loss = nn::PoissonNLLLoss::new().log_input(c.get("log_input")?);
            two(loss.full(c.get("full")?).eps(c.get("eps")?).reduction(reduction(c)?))
        },
    ),
    module("nn.HingeEmbeddingLoss", "margin=1.0, *, reduction='mean'", |c| {
        two(nn::HingeEmbeddingLoss::new().margin(c.get("margin")?).reduction(reduction(c)?))
    }),
    module("nn.MultiMarginLoss", "p=1, margin=1.0, weight=None, *, reduction='mean'", |c| {
        let loss = nn::MultiMarginLoss::new().p(c.get("p")?).margin(c.get("margin")?);
        two(loss.weight(weight(c, "weight")?).reduction(reduction(c)?))
    }),
    module("nn.MultiLabelSoftMarginLoss", "weight=None, *, reduction='mean'", |c| {
        let loss = nn::MultiLabelSoftMarginLoss::new().weight(weight(c, "weight")?);
        two(loss.reduction(reduction(c)?))
    }),
    module("nn.BCELoss", "weight=None, *, reduction='mean'", |c| {
        two(nn::BCELoss::new().weight(weight(c, "weight")?).reduction(reduction(c)?))
    }),
    module("nn.BCEWithLogitsLoss", "weight=None, *, reduction='mean', pos_weight=None", |c| {
        let loss = nn::BCEWithLogitsLoss::new().weight(weight(c, "weight")?);
        two(loss.pos_weight(weight(c, "pos_weight")?).reduction(reduction(c)?))
    }),
    module("nn.NLLLoss", "weight=None, *, ignore_index=-100, reduction='mean'", |c| {
        let loss = nn::NLLLoss::new().weight(weight(c, "weight")?);
        two(loss.ignore_index(c.get("ignore_index")?).reduction(reduction(c)?))
    }),
    module(
        "nn.CrossEntropyLoss",
        "weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0",
        |c| {
            let loss = nn::CrossEntropyLoss::new().weight(weight(c, "weight")?);
            let loss = loss.label_smoothing(c.get("label_smoothing")?);
            two(loss.ignore_index(c.get("ignore_index")?).reduction(reduction(c)?))
        },
    ),
];

/// Losses of other inputs, or with parameters.
pub(super) static OTHERS: &[ModuleRow] = &[
    module("nn.CTCLoss", "blank=0, reduction='mean', zero_infinity=False", |c| {
        let loss = nn::CTCLoss::new().blank(c.get("blank")?).reduction(reduction(c)?);
        let module = loss.zero_infinity(c.get("zero_infinity")?);
        let call = |module: &nn::CTCLoss, inputs: &[CaseArgument]| {
            let tensor = |lengths: &CaseArgument| {
                let lengths: Vec<i64> = lengths_of(lengths)?.iter().map(|&n| n as i64).collect();
                Ok::<_, CaseFailure>(Tensor::from_vec(lengths.clone(), [lengths.len()], ())?)
            };
            let [probs, targets, lengths, label_counts] = inputs else {
                return Err(CaseFailure::Unsupported("other than four inputs".to_owned()));
            };
            let [probs, targets] = tensors(&[probs.clone(), targets.clone()])?;
            let inputs = (probs, targets, tensor(lengths)?, tensor(label_counts)?);
            Ok(vec![module.forward(&inputs)?])
        };
        Ok(Box::new(CalledModule { module, call }))
    }),
    module(
        "nn.LinearCrossEntropyLoss",
        "in_features, num_classes, *, out_features=[], reduction='mean', weight=None, ignore_index=-100, label_smoothing=0.0, options=None",
        |c| {
            if !matches!(c.argument("out_features")?, CaseArgument::List(sizes) if sizes.is_empty())
                || !matches!(c.argument("options")?, CaseArgument::None)
            {
                return Err(CaseFailure::Unsupported("features or options".to_owned()));
            }
            let classes = c.get("num_classes")?;
            let loss = nn::LinearCrossEntropyLoss::new(c.get("in_features")?, classes)?;
            let loss = loss.weight(weight(c, "weight")?).ignore_index(c.get("ignore_index")?);
            two(loss.label_smoothing(c.get("label_smoothing")?).reduction(reduction(c)?))
        },
    ),
];

/// Losses of three tensors.
pub(super) static OF_PAIRS: &[ModuleRow] = &[
    module("nn.GaussianNLLLoss", "*, full=False, eps=1e-06, reduction='mean'", |c| {
        let loss = nn::GaussianNLLLoss::new().full(c.get("full")?).eps(c.get("eps")?);
        three(loss.reduction(reduction(c)?))
    }),
    module("nn.MarginRankingLoss", "margin=0.0, *, reduction='mean'", |c| {
        three(nn::MarginRankingLoss::new().margin(c.get("margin")?).reduction(reduction(c)?))
    }),
    module("nn.CosineEmbeddingLoss", "margin=0.0, *, reduction='mean'", |c| {
        three(nn::CosineEmbeddingLoss::new().margin(c.get("margin")?).reduction(reduction(c)?))
    }),
    module("nn.TripletMarginLoss", "margin=1.0, p=2.0, *, swap=False, reduction='mean'", |c| {
        let loss = nn::TripletMarginLoss::new().margin(c.get("margin")?).p(c.get("p")?);
        three(loss.swap(c.get("swap")?).reduction(reduction(c)?))
    }),
];

const REDUCTION: &str = "*, reduction='mean'";

fn reduction(c: &BoundCall) -> Result<Reduction, CaseFailure> {
    Ok(c.get::<&str>("reduction")?.parse()?)
}

fn weight(c: &BoundCall, name: &str) -> Result<Option<Tensor>, CaseFailure> {
    Ok(c.get::<Option<&Tensor>>(name)?.cloned())
}
