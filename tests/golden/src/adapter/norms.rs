//! Normalisations.

use tensor::Tensor;

use super::rows::{AdapterRow, BoundCall, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row(
        "layer_norm|nn.functional.layer_norm",
        "x, normalized_shape, weight=None, bias=None, eps=1e-05",
        |c| {
            give(c.x()?.layer_norm(
                &c.get::<Vec<usize>>("normalized_shape")?,
                c.get("weight")?,
                c.get("bias")?,
                c.get("eps")?,
            ))
        },
    ),
    row("nn.functional.rms_norm", "x, normalized_shape, weight=None, eps=None", |c| {
        let shape = c.get::<Vec<usize>>("normalized_shape")?;
        give(c.x()?.rms_norm(&shape, c.get("weight")?, c.get::<Option<f64>>("eps")?))
    }),
    row(
        "nn.functional.batch_norm",
        "x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
        |c| {
            give(c.x()?.batch_norm(
                running(c)?,
                c.get("weight")?,
                c.get("bias")?,
                c.get("training")?,
                c.get("momentum")?,
                c.get("eps")?,
            ))
        },
    ),
    row(
        "nn.functional.instance_norm",
        "x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05",
        |c| {
            give(c.x()?.instance_norm(
                running(c)?,
                c.get("weight")?,
                c.get("bias")?,
                c.get("use_input_stats")?,
                c.get("momentum")?,
                c.get("eps")?,
            ))
        },
    ),
    row("nn.functional.group_norm", "x, num_groups, weight=None, bias=None, eps=1e-05", |c| {
        let (weight, bias) = (c.get("weight")?, c.get("bias")?);
        give(c.x()?.group_norm(c.get("num_groups")?, weight, bias, c.get("eps")?))
    }),
];

/// The running statistics, of which the library takes both or none.
fn running(c: &BoundCall) -> Result<Option<(&Tensor, &Tensor)>, CaseFailure> {
    match (c.get("running_mean")?, c.get("running_var")?) {
        (Some(mean), Some(variance)) => Ok(Some((mean, variance))),
        (None, None) => Ok(None),
        _ => Err(CaseFailure::Unsupported("one running statistic without the other".to_owned())),
    }
}
