//! Losses.

use super::rows::{AdapterRow, give, row};

pub(super) static ROWS: &[AdapterRow] = &[
    row("nn.functional.cross_entropy", "x, target", |c| {
        give(c.x()?.cross_entropy(c.get("target")?))
    }),
    row("nn.functional.nll_loss", "x, target", |c| give(c.x()?.nll_loss(c.get("target")?))),
    row("nn.functional.mse_loss", "x, target", |c| give(c.x()?.mse_loss(c.get("target")?))),
];
