//! The layout of numbers in brackets and lines.

use super::LINE_WIDTH;
use super::number::Numbers;
use super::summary::EDGE;

/// Numbers in row-major order of `shape`. Of an elided dimension only the first and last [`EDGE`]
/// entries are there, and dots are written between them.
pub(super) struct Lines<'a> {
    pub(super) numbers: &'a Numbers,
    pub(super) shape: &'a [usize],
    pub(super) elided: &'a [bool],
}

impl Lines<'_> {
    /// The text, of which the first line begins in column `indent`.
    pub(super) fn write(&self, indent: usize) -> String {
        self.block(0, 0, indent)
    }

    /// The text of the dimensions from `dim` on, whose first number is at `start`.
    fn block(&self, dim: usize, start: usize, indent: usize) -> String {
        match self.shape.len() - dim {
            0 => self.numbers.write(start),
            1 => self.vector(dim, start, indent),
            left => {
                let stride: usize = self.shape[dim + 1..].iter().product();
                let rows = (0..self.shape[dim])
                    .map(|i| self.block(dim + 1, start + i * stride, indent + 1));
                let rows = self.with_dots(dim, rows.collect(), "...");
                let between = format!(",{}{}", "\n".repeat(left - 1), " ".repeat(indent + 1));
                format!("[{}]", rows.join(&between))
            }
        }
    }

    /// The text of the last dimension, with as many numbers to a line as fit.
    fn vector(&self, dim: usize, start: usize, indent: usize) -> String {
        let per_line = (LINE_WIDTH.saturating_sub(indent) / (self.numbers.width + 2)).max(1);
        let numbers = (0..self.shape[dim]).map(|i| self.numbers.write(start + i)).collect();
        let items = self.with_dots(dim, numbers, " ...");
        let lines: Vec<String> = items.chunks(per_line).map(|line| line.join(", ")).collect();
        format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1))))
    }

    fn with_dots(&self, dim: usize, mut items: Vec<String>, dots: &str) -> Vec<String> {
        if self.elided[dim] {
            items.insert(EDGE, dots.to_owned());
        }
        items
    }
}
