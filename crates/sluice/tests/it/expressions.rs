//! Expressions read as in PyTorch, with one `?`.

use sluice::prelude::*;
use sluice::{Error, Result};

#[test]
fn an_expression_needs_one_question_mark() -> Result<()> {
    let (x, w, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?, tensor![0.5, 0.5]?);
    assert_eq!(((&x * &w) + &b)?.to_vec::<f32>()?, [3.5, 8.5]);
    assert_eq!((&b - &x * &w)?.to_vec::<f32>()?, [-2.5, -7.5]);
    assert_eq!((2.0 * &x)?.to_vec::<f32>()?, [2.0, 4.0]);
    assert_eq!((-(&x * &w)?)?.to_vec::<f32>()?, [-3.0, -8.0]);
    Ok(())
}

#[test]
fn functions_of_a_program_may_use_the_one_error_everywhere() -> Result<()> {
    fn scaled(x: &Tensor) -> Result<Tensor> {
        let factor: f64 = "0.5".parse().map_err(Error::other)?;
        Ok((x * factor)?)
    }
    assert_eq!(scaled(&tensor![4.0]?)?.item::<f32>()?, 2.0);
    Ok(())
}
