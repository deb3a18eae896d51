//! Einstein's summation.

mod equation;
mod labelled;

use std::borrow::Borrow;

use self::equation::Equation;
use self::labelled::Labelled;
use super::join::borrowed;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// The sum of products that an equation describes: each dimension of an operand has a letter,
    /// operands are separated by commas, and the letters of the result stand behind `->`. What is
    /// not in the result is summed over. Without `->` the result has the letters that occur once, in
    /// alphabetical order. `...` stands for dimensions without letters, which are broadcast.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[1.0, 0.0], [0.0, 2.0]]?);
    /// let product = Tensor::einsum("ij,jk->ik", &[&a, &b])?;
    /// assert_eq!(product.to_vec::<f32>()?, [1.0, 4.0, 3.0, 8.0]);
    /// assert_eq!(Tensor::einsum("ii", &[&a])?.item::<f32>()?, 5.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The equation does not fit the operands, or sizes of one letter differ and none is 1.
    #[track_caller]
    pub fn einsum<T: Borrow<Tensor>>(equation: &str, operands: impl AsRef<[T]>) -> Result<Tensor> {
        let operands = borrowed(operands.as_ref());
        let parsed =
            Equation::parse(equation, &operands).map_err(|why| Error::InvalidArgument {
                op: "einsum",
                argument: "equation",
                value: equation.to_owned(),
                why,
            })?;
        let mut product: Option<Labelled> = None;
        for (position, (operand, labels)) in operands.iter().zip(&parsed.operands).enumerate() {
            let later = || parsed.operands[position + 1..].iter().flatten();
            let needed =
                |label: u32| parsed.output.contains(&label) || later().any(|&l| l == label);
            let operand = Labelled::new(operand, labels)?;
            product = Some(match product {
                None if operands.len() == 1 => operand.summed_but(needed)?,
                None => operand,
                Some(product) => product.times(operand, needed)?,
            });
        }
        match product {
            Some(product) => product.ordered(&parsed.output),
            None => Err(Error::InvalidArgument {
                op: "einsum",
                argument: "operands",
                value: "[]".to_owned(),
                why: "there must be at least one",
            }),
        }
    }
}
