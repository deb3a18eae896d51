//! Equations, as labels of dimensions.

use crate::Tensor;

/// Labels from here on are dimensions without letters, counted from the innermost.
const UNNAMED: u32 = 1 << 21;

/// The labels of each operand's dimensions, and of those of the result. A label is a letter, or
/// stands for one of the dimensions of an ellipsis.
pub(super) struct Equation {
    pub(super) operands: Vec<Vec<u32>>,
    pub(super) output: Vec<u32>,
}

impl Equation {
    /// Reads an equation for these operands.
    ///
    /// # Errors
    /// It does not fit them; the text says why.
    pub(super) fn parse(text: &str, tensors: &[&Tensor]) -> Result<Equation, &'static str> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (&*text, None),
        };
        let terms: Vec<&str> = inputs.split(',').collect();
        if terms.len() != tensors.len() {
            return Err("it must have a term for each operand");
        }
        let operands = terms
            .iter()
            .zip(tensors)
            .map(|(term, tensor)| labels(term, Some(tensor.dims())))
            .collect::<Result<Vec<_>, _>>()?;
        let unnamed = operands.iter().flatten().copied().filter(|&label| label >= UNNAMED).max();
        let output = match output {
            Some(term) => explicit(term, unnamed, &operands)?,
            None => implicit(unnamed, &operands),
        };
        Ok(Equation { operands, output })
    }
}

/// The labels of a term. `dims` is the number of dimensions that it must have, if that is known;
/// else an ellipsis is left as the one label `UNNAMED`.
fn labels(term: &str, dims: Option<usize>) -> Result<Vec<u32>, &'static str> {
    let (before, behind, has_ellipsis) = match term.split_once("...") {
        Some((before, behind)) => (before, behind, true),
        None => (term, "", false),
    };
    let letters = |part: &str| -> Result<Vec<u32>, &'static str> {
        let letter = |c: char| match c.is_ascii_alphabetic() {
            true => Ok(u32::from(c)),
            false => {
                Err("dimensions are letters, and an ellipsis has three points and occurs once")
            }
        };
        part.chars().map(letter).collect()
    };
    let (before, behind) = (letters(before)?, letters(behind)?);
    let named = before.len() + behind.len();
    let unnamed: Vec<u32> = match dims {
        None => has_ellipsis.then_some(UNNAMED).into_iter().collect(),
        Some(dims) if dims == named => Vec::new(),
        Some(dims) if has_ellipsis && dims > named => {
            (0..(dims - named) as u32).rev().map(|place| UNNAMED + place).collect()
        }
        Some(_) => return Err("a term must have a letter for each dimension of its operand"),
    };
    Ok([before, unnamed, behind].concat())
}

/// The labels of a result that is written out.
fn explicit(
    term: &str,
    unnamed: Option<u32>,
    operands: &[Vec<u32>],
) -> Result<Vec<u32>, &'static str> {
    let mut output = Vec::new();
    for label in labels(term, None)? {
        if label == UNNAMED {
            output.extend(unnamed.into_iter().flat_map(|last| (UNNAMED..=last).rev()));
        } else if output.contains(&label) {
            return Err("a letter may be in the result only once");
        } else if !operands.iter().flatten().any(|&own| own == label) {
            return Err("each letter of the result must be in an operand");
        } else {
            output.push(label);
        }
    }
    Ok(output)
}

/// The labels of a result that is not written out: dimensions without letters, then the letters
/// that occur once.
fn implicit(unnamed: Option<u32>, operands: &[Vec<u32>]) -> Vec<u32> {
    let count = |label: u32| operands.iter().flatten().filter(|&&own| own == label).count();
    let mut letters: Vec<u32> = operands
        .iter()
        .flatten()
        .copied()
        .filter(|&label| label < UNNAMED && count(label) == 1)
        .collect();
    letters.sort_unstable();
    unnamed.into_iter().flat_map(|last| (UNNAMED..=last).rev()).chain(letters).collect()
}
