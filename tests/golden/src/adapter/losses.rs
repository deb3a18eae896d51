//! Losses.

use tensor::{DType, Reduction, Tensor};

use super::convert::FromArgument;
use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row(
        "nn.functional.cross_entropy",
        "x, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0",
        |c| {
            give(c.x()?.cross_entropy_with(
                c.get("target")?,
                c.get("weight")?,
                c.get("ignore_index")?,
                c.get("label_smoothing")?,
                reduction(c)?,
            ))
        },
    ),
    row(
        "nn.functional.nll_loss",
        "x, target, weight=None, *, ignore_index=-100, reduction='mean'",
        |c| {
            let (target, weight) = (c.get("target")?, c.get("weight")?);
            give(c.x()?.nll_loss_with(target, weight, c.get("ignore_index")?, reduction(c)?))
        },
    ),
    row("nn.functional.binary_cross_entropy", "x, target, weight=None, *, reduction='mean'", |c| {
        let (target, weight) = (c.get("target")?, c.get("weight")?);
        give(c.x()?.binary_cross_entropy_with(target, weight, reduction(c)?))
    }),
    row(
        "nn.functional.binary_cross_entropy_with_logits",
        "x, target, weight=None, *, reduction='mean', pos_weight=None",
        |c| {
            give(c.x()?.binary_cross_entropy_with_logits_with(
                c.get("target")?,
                c.get("weight")?,
                c.get("pos_weight")?,
                reduction(c)?,
            ))
        },
    ),
    row("nn.functional.smooth_l1_loss", "x, target, *, reduction='mean', beta=1.0", |c| {
        give(c.x()?.smooth_l1_loss_with(c.get("target")?, c.get("beta")?, reduction(c)?))
    }),
    row("nn.functional.huber_loss", "x, target, reduction='mean', delta=1.0", |c| {
        give(c.x()?.huber_loss_with(c.get("target")?, c.get("delta")?, reduction(c)?))
    }),
    row("nn.functional.kl_div", "x, target, *, reduction='mean', log_target=False", |c| {
        give(c.x()?.kl_div_with(c.get("target")?, c.get("log_target")?, reduction(c)?))
    }),
    row(
        "nn.functional.poisson_nll_loss",
        "x, target, log_input=True, full=False, *, eps=1e-08, reduction='mean'",
        |c| {
            let (log_input, full) = (c.get("log_input")?, c.get("full")?);
            let (target, eps) = (c.get("target")?, c.get("eps")?);
            give(c.x()?.poisson_nll_loss_with(target, log_input, full, eps, reduction(c)?))
        },
    ),
    row(
        "nn.functional.gaussian_nll_loss",
        "x, target, var, full=False, eps=1e-06, reduction='mean'",
        |c| {
            let (full, eps) = (c.get("full")?, c.get("eps")?);
            let (target, var) = (c.get("target")?, c.get("var")?);
            give(c.x()?.gaussian_nll_loss_with(target, var, full, eps, reduction(c)?))
        },
    ),
    row("nn.functional.hinge_embedding_loss", "x, target, margin=1.0, *, reduction='mean'", |c| {
        give(c.x()?.hinge_embedding_loss_with(c.get("target")?, c.get("margin")?, reduction(c)?))
    }),
    row(
        "nn.functional.multi_margin_loss",
        "x, target, p=1, margin=1.0, weight=None, *, reduction='mean'",
        |c| {
            let (target, weight) = (c.get("target")?, c.get("weight")?);
            give(c.x()?.multi_margin_loss_with(
                target,
                c.get("p")?,
                c.get("margin")?,
                weight,
                reduction(c)?,
            ))
        },
    ),
    row(
        "nn.functional.multilabel_soft_margin_loss",
        "x, target, weight=None, *, reduction='mean'",
        |c| {
            let (target, weight) = (c.get("target")?, c.get("weight")?);
            give(c.x()?.multilabel_soft_margin_loss_with(target, weight, reduction(c)?))
        },
    ),
    row(
        "nn.functional.triplet_margin_loss",
        "x, positive, negative, margin=1.0, p=2, *, swap=False, reduction='mean'",
        |c| {
            give(c.x()?.triplet_margin_loss_with(
                c.get("positive")?,
                c.get("negative")?,
                c.get("margin")?,
                c.get("p")?,
                c.get("swap")?,
                reduction(c)?,
            ))
        },
    ),
    row(
        "nn.functional.ctc_loss",
        "x, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False",
        |c| {
            let (targets, zero_infinity) = (c.get("targets")?, c.get("zero_infinity")?);
            give(c.x()?.ctc_loss_with(
                targets,
                &lengths(c.argument("input_lengths")?)?,
                &lengths(c.argument("target_lengths")?)?,
                c.get("blank")?,
                zero_infinity,
                reduction(c)?,
            ))
        },
    ),
    row("nn.functional.margin_ranking_loss", PAIR, |c| pair(c, Tensor::margin_ranking_loss_with)),
    row("nn.functional.cosine_embedding_loss", PAIR, |c| {
        pair(c, Tensor::cosine_embedding_loss_with)
    }),
    row("nn.functional.mse_loss", OF_TARGET, |c| of_target(c, Tensor::mse_loss_with)),
    row("nn.functional.l1_loss", OF_TARGET, |c| of_target(c, Tensor::l1_loss_with)),
    row("nn.functional.soft_margin_loss", OF_TARGET, |c| {
        of_target(c, Tensor::soft_margin_loss_with)
    }),
    row("nn.functional.multilabel_margin_loss", OF_TARGET, |c| {
        of_target(c, Tensor::multilabel_margin_loss_with)
    }),
];

/// Lengths, which are a number, a list or a tensor of integers.
pub(super) fn lengths(argument: &CaseArgument) -> Result<Vec<usize>, CaseFailure> {
    let lengths = match argument {
        CaseArgument::Integer(length) => vec![*length],
        CaseArgument::Tensor(lengths) => lengths.to(DType::I64)?.to_vec()?,
        list => Vec::from_argument(list).unwrap_or_default(),
    };
    let lengths: Result<Vec<usize>, _> = lengths.into_iter().map(usize::try_from).collect();
    lengths.map_err(|_| CaseFailure::Unsupported("such lengths".to_owned()))
}

const OF_TARGET: &str = "x, target, *, reduction='mean'";

fn of_target(
    c: &BoundCall,
    loss: impl FnOnce(&Tensor, &Tensor, Reduction) -> tensor::Result<Tensor>,
) -> CallOutcome {
    give(loss(c.x()?, c.get("target")?, reduction(c)?))
}

const PAIR: &str = "x, other, target, margin=0.0, *, reduction='mean'";

fn pair(
    c: &BoundCall,
    loss: impl FnOnce(&Tensor, &Tensor, &Tensor, f64, Reduction) -> tensor::Result<Tensor>,
) -> CallOutcome {
    let (other, target) = (c.get("other")?, c.get("target")?);
    give(loss(c.x()?, other, target, c.get("margin")?, reduction(c)?))
}

fn reduction(c: &BoundCall) -> Result<Reduction, CaseFailure> {
    Ok(c.get::<&str>("reduction")?.parse()?)
}
