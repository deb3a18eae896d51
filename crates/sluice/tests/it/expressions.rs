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
        x * factor
    }
    let x = tensor![4.0]?;
    assert_eq!((scaled(&x) + &x)?.item::<f32>()?, 6.0, "its result is an operand");
    Ok(())
}

#[test]
fn streams_and_events_take_what_a_function_gives() -> Result<()> {
    cuda::software(2)?;
    let device = Device::cuda();
    let (side, event) = (cuda::Stream::new(device)?, cuda::Event::new());
    side.wait_stream(&cuda::current_stream(device)?)?;
    event.record(cuda::current_stream(device)?)?;
    event.wait(&side)?;
    Ok(())
}

#[test]
fn operands_by_value_and_numbers_on_either_side_need_no_further_signs() -> Result<()> {
    let (a, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
    assert_eq!((&a + b.mul(&a)?)?.to_vec::<f32>()?, [4.0, 10.0]);
    assert_eq!((1.0 / (&a + 1.0)?)?.to_vec::<f32>()?, [0.5, 1.0 / 3.0]);
    assert_eq!((2 * a)?.to_vec::<f32>()?, [2.0, 4.0]);
    Ok(())
}
