//! A small transformer, which learns a text character by character and writes some of it.
//!
//! ```sh
//! cargo run --release --example transformer
//! cargo run --release --example transformer -- --device cpu --steps 20
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use clap::Parser;
use sluice::nn::{
    AttentionMasks, Embedding, LayerNorm, Linear, TransformerActivation, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
use sluice::prelude::*;

/// From the first chapter of "Alice's Adventures in Wonderland" (L. Carroll, 1865; public domain).
const TEXT: &str = "Alice was beginning to get very tired of sitting by her sister on the bank, and \
    of having nothing to do: once or twice she had peeped into the book her sister was reading, but \
    it had no pictures or conversations in it, and what is the use of a book, thought Alice, without \
    pictures or conversations?";
const CONTEXT: usize = 32;
const WIDTH: usize = 64;
/// Scores are divided by it before a character is drawn: below 1, likely ones become likelier.
const TEMPERATURE: f64 = 0.5;

/// Learns a text.
#[derive(Parser)]
struct TransformerArgs {
    /// The device to compute on: cpu, cuda or cuda:N; a GPU, where there is one, if it is not given.
    #[arg(long)]
    device: Option<Device>,
    /// The number of steps of the training.
    #[arg(long, default_value_t = 300)]
    steps: usize,
    /// The number of characters that it writes.
    #[arg(long, default_value_t = 60)]
    length: usize,
}

/// A transformer whose positions see what is before them.
#[derive(Module)]
struct CharacterModel {
    characters: Embedding,
    places: Embedding,
    layers: TransformerEncoder,
    head: Linear,
}

impl CharacterModel {
    fn new(vocabulary: usize) -> Result<CharacterModel> {
        let options = TransformerOptions::new()
            .dim_feedforward(4 * WIDTH)
            .dropout(0.0)
            .activation(TransformerActivation::GELU)
            .batch_first(true)
            .norm_first(true);
        let layer = || TransformerEncoderLayer::new(WIDTH, 4, options);
        Ok(CharacterModel {
            characters: Embedding::new(vocabulary, WIDTH)?,
            places: Embedding::new(CONTEXT, WIDTH)?,
            layers: TransformerEncoder::new([layer()?, layer()?], LayerNorm::new([WIDTH])?),
            head: Linear::new(WIDTH, vocabulary)?,
        })
    }
}

impl Forward for CharacterModel {
    type Output = Tensor;

    /// The scores of the next character after each of `[batch, time]`.
    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let places = Tensor::arange(text.size(1)?, (DType::I64, text.device()))?;
        let x = (self.characters.forward(text)? + self.places.forward(&places)?)?;
        self.head.forward(&self.layers.encode(&x, &AttentionMasks::new().causal(true))?)
    }
}

fn main() -> Result<()> {
    let args = TransformerArgs::parse();
    let available = || if cuda::is_available() { Device::cuda() } else { Device::Cpu };
    let device = args.device.unwrap_or_else(available);
    sluice::manual_seed(0);
    let mut vocabulary: Vec<char> = TEXT.chars().collect();
    vocabulary.sort_unstable();
    vocabulary.dedup();
    let number = |c| vocabulary.iter().position(|&other| other == c).map_or(0, |at| at as i64);
    let numbers: Vec<i64> = TEXT.chars().map(number).collect();
    let text = Tensor::new(&numbers, device)?;
    let last = text.numel() - CONTEXT - 1;

    let mut model = CharacterModel::new(vocabulary.len())?;
    model.to(device)?;
    let mut optimizer = optim::Adam::new(model.parameters(), 3e-3).build()?;
    for step in 1..=args.steps {
        let starts = Tensor::randint(0, last as i64, [16, 1], (DType::I64, device))?;
        let windows = text.i(&(starts + Tensor::arange(CONTEXT + 1, (DType::I64, device))?)?)?;
        let (input, next) = (windows.i((.., ..CONTEXT))?, windows.i((.., 1..))?);
        let scores = model.forward(&input)?.reshape((-1, vocabulary.len()))?;
        let loss = scores.cross_entropy(&next.flatten()?)?;
        optimizer.zero_grad();
        loss.backward()?;
        optimizer.step()?;
        if step % 100 == 0 {
            println!("step {step}: loss {:.2}", loss.item::<f32>()?);
        }
    }

    let mut written = text.i(..CONTEXT)?;
    for _ in 0..args.length {
        let context = written.i(-(CONTEXT as i64)..)?.unsqueeze(0)?;
        let scores = no_grad(|| model.forward(&context))?.i((0, -1))?;
        let next = (scores / TEMPERATURE)?.softmax(-1)?.multinomial(1, true)?;
        written = Tensor::cat([&written, &next], 0)?;
    }
    let written: Vec<i64> = written.to_vec()?;
    let written: String = written.iter().map(|&number| vocabulary[number as usize]).collect();
    println!("{written}");
    Ok(())
}
