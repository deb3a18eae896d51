//! The most memory that a step of training adds, beside PyTorch's.

use nn::optim::{Optimizer, SGD};
use nn::{Forward, Result};
use serde_json::Value;
use tensor::{DType, Tensor, cpu};

use crate::curves::networks::{CharacterTransformer, Cnn};

const EXPECTED: &str = include_str!("../expected/memory.json");

/// The bytes that a step has at most beside those that were there before it.
fn peak(
    network: &dyn Forward<Tensor, Output = Tensor>,
    inputs: &Tensor,
    targets: &Tensor,
) -> Result<u64> {
    let mut optimizer = SGD::new(network.parameters(), 0.01).momentum(0.9).build()?;
    let mut step = || {
        // As in Python, the scores are gone before the backward pass begins.
        let loss = network.forward(inputs)?.flatten_dims(0, -2)?.cross_entropy(targets)?;
        loss.backward()?;
        optimizer.step()
    };
    for _ in 0..2 {
        step()?;
        network.parameters().iter().for_each(Tensor::clear_grad);
    }
    let before = cpu::memory_allocated();
    cpu::reset_peak_memory_stats();
    step()?;
    Ok(cpu::max_memory_allocated() - before)
}

#[expect(clippy::print_stdout, reason = "rows of the page of results")]
fn check(name: &str, ours: u64) {
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    let theirs = expected["peaks"][name].as_u64().expect("a number");
    println!("| {name} | {theirs} | {ours} | {:.2} |", ours as f64 / theirs as f64);
    assert!(ours <= theirs, "{name}: {ours} bytes, PyTorch takes {theirs}");
}

#[test]
fn a_step_takes_as_much_memory_as_pytorchs() {
    let compared = || -> Result<()> {
        let images = Tensor::randn([32, 3, 32, 32], ())?;
        let classes = Tensor::randint(0, 10, [32], DType::I64)?;
        check("cnn", peak(&Cnn::new([3, 32, 64, 10])?, &images, &classes)?);
        let texts = Tensor::randint(0, 64, [16, 64], DType::I64)?;
        let network = CharacterTransformer::new([64, 64], [64, 4, 256])?;
        check("transformer", peak(&network, &texts, &texts.flatten()?)?);
        Ok(())
    };
    // The memory of other tests would count, too.
    test_support::isolate(|| compared().expect("a step")).run();
}
