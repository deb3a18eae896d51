//! Distances and angles, tables, bilinear transformations, dropout of channels.

use tensor::{BagMode, CdistMode, DType, EmbeddingOptions, Tensor};

use super::rows::{AdapterRow, BoundCall, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("nn.functional.normalize", "x, p=2.0, dim=1, eps=1e-12", |c| {
        give(c.x()?.normalize(c.get::<f64>("p")?, c.get("dim")?, c.get("eps")?))
    }),
    row("nn.functional.cosine_similarity", "x, other, dim=1, eps=1e-08", |c| {
        give(c.x()?.cosine_similarity(c.get("other")?, c.get("dim")?, c.get("eps")?))
    }),
    row("nn.functional.pairwise_distance", "x, other, p=2.0, eps=1e-06, keepdim=False", |c| {
        let (p, eps) = (c.get::<f64>("p")?, c.get("eps")?);
        give(c.x()?.pairwise_distance(c.get("other")?, p, eps, c.get("keepdim")?))
    }),
    row("nn.functional.pdist", "x, p=2.0", |c| give(c.x()?.pdist(c.get::<f64>("p")?))),
    row("cdist", "x, other, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'", |c| {
        let mode = match c.get("compute_mode")? {
            "use_mm_for_euclid_dist_if_necessary" => CdistMode::IfNecessary,
            "use_mm_for_euclid_dist" => CdistMode::Always,
            "donot_use_mm_for_euclid_dist" => CdistMode::Never,
            other => return Err(CaseFailure::Unsupported(format!("the mode {other}"))),
        };
        give(c.x()?.cdist_with(c.get("other")?, c.get::<f64>("p")?, mode))
    }),
    row("nn.functional.bilinear", "x, other, weight, bias=None", |c| {
        give(c.x()?.bilinear(c.get("other")?, c.get("weight")?, c.get("bias")?))
    }),
    row("nn.functional.softmin", "x, dim, *, dtype=None", |c| {
        // PyTorch negates before it converts, which bytes show.
        let (dim, dtype): (isize, Option<DType>) = (c.get("dim")?, c.get("dtype")?);
        match dtype {
            Some(dtype) => give(c.x()?.neg()?.to(dtype)?.softmax(dim)),
            None => give(c.x()?.softmin(dim)),
        }
    }),
    row("nn.functional.dropout1d", "x, p=0.5, training=True", |c| {
        give(c.x()?.dropout1d(c.get("p")?, c.get("training")?))
    }),
    row("nn.functional.dropout2d", "x, p=0.5, training=True", |c| {
        give(c.x()?.dropout2d(c.get("p")?, c.get("training")?))
    }),
    row("nn.functional.dropout3d", "x, p=0.5, training=True", |c| {
        give(c.x()?.dropout3d(c.get("p")?, c.get("training")?))
    }),
    row("nn.functional.alpha_dropout", "x, p=0.5, training=False", |c| {
        give(c.x()?.alpha_dropout(c.get("p")?, c.get("training")?))
    }),
    row("nn.functional.feature_alpha_dropout", "x, p=0.5, training=False", |c| {
        give(c.x()?.feature_alpha_dropout(c.get("p")?, c.get("training")?))
    }),
    row(
        "nn.functional.embedding",
        "weight, x, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False",
        |c| give(c.x()?.embedding_with(c.get("weight")?, embedding(c)?)),
    ),
    row("torch.nn.functional.embedding", "x, weight", |c| give(c.x()?.embedding(c.get("weight")?))),
    row(
        "nn.functional.embedding_bag",
        "weight, x, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', *, per_sample_weights=None, include_last_offset=False, padding_idx=None",
        |c| {
            let mode = match c.get("mode")? {
                "sum" => BagMode::Sum,
                "mean" => BagMode::Mean,
                "max" => BagMode::Max,
                other => return Err(CaseFailure::Unsupported(format!("the mode {other}"))),
            };
            let weights: Option<&Tensor> = c.get("per_sample_weights")?;
            let (table, offsets) = (c.get("weight")?, c.get("offsets")?);
            let options = embedding(c)?.include_last_offset(c.get("include_last_offset")?);
            give(c.x()?.embedding_bag(table, offsets, mode, weights, options))
        },
    ),
];

fn embedding(c: &BoundCall) -> Result<EmbeddingOptions, CaseFailure> {
    let options = EmbeddingOptions::new()
        .padding_idx(c.get::<Option<isize>>("padding_idx")?)
        .scale_grad_by_freq(c.get("scale_grad_by_freq")?);
    Ok(match c.get::<Option<f64>>("max_norm")? {
        Some(max_norm) => options.max_norm(max_norm, c.get("norm_type")?),
        None => options,
    })
}
