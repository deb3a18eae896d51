//! Indexing.

use super::{Row, give, row};

pub(super) static ROWS: &[Row] = &[
    row("gather", "x, dim, index", |c| give(c.x()?.gather(c.get("dim")?, c.get("index")?))),
    row("scatter_add", "x, dim, index, src", |c| {
        give(c.x()?.scatter_add(c.get("dim")?, c.get("index")?, c.get("src")?))
    }),
    row("scatter_add_", "x, dim, index, src", |c| {
        give(c.x()?.scatter_add_(c.get("dim")?, c.get("index")?, c.get("src")?))
    }),
    row("index_select", "x, dim, index", |c| {
        give(c.x()?.index_select(c.get("dim")?, c.get("index")?))
    }),
    row("index_add", "x, dim, index, source", |c| {
        give(c.x()?.index_add(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
    row("index_add_", "x, dim, index, source", |c| {
        give(c.x()?.index_add_(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
];
