//! Views beside their storage.

use super::*;

#[test]
fn a_view_that_does_not_lie_inside_its_storage_is_refused() -> Result<()> {
    let x = Tensor::zeros([6], DType::F32)?;
    let view = |sizes: &[usize], strides: &[isize], offset| {
        x.alias(Layout::strided(sizes.into(), strides.iter().copied().collect(), offset))
    };
    assert_eq!(view(&[2, 2], &[3, 2], 0)?.to_vec::<f32>()?, [0.0; 4]);
    assert!(view(&[9], &[0], 5).is_ok() && view(&[0, 9], &[9, 9], 100).is_ok());
    for outside in
        [view(&[7], &[1], 0), view(&[2, 3], &[3, 1], 1), view(&[1], &[1], 6), view(&[3], &[-1], 1)]
    {
        assert!(matches!(outside, Err(Error::OutsideStorage { .. })), "{outside:?}");
    }
    Ok(())
}
