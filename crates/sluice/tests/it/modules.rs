//! Modules of programs that depend on the face alone.

use sluice::prelude::*;

#[derive(Module)]
#[module(crate = sluice::nn)]
struct Shifted {
    linear: nn::Linear,
    #[module(buffer)]
    shift: Tensor,
    sizes: [usize; 2],
    #[module(training)]
    training: bool,
}

impl Forward for Shifted {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.linear.forward(input)? + &self.shift
    }
}

#[test]
fn the_derive_finds_all_that_it_needs_in_the_face() -> Result<()> {
    let (linear, shift) = (nn::Linear::new(2, 3)?, Tensor::ones([3], ())?);
    let mut module = Shifted { linear, shift, sizes: [2, 3], training: true };
    module.to(DType::F64)?;
    module.eval();
    assert!(!module.training);
    assert_eq!(module.forward(&Tensor::ones([1, 2], DType::F64)?)?.shape(), [1, 3]);
    assert!(module.to_string().starts_with("Shifted(\n  sizes=(2, 3)\n  (linear): Linear("));
    let error: sluice::Error = module.load_state_dict(&nn::StateDict::new()).unwrap_err().into();
    assert!(error.to_string().contains("shift is missing"), "{error}");
    Ok(())
}
