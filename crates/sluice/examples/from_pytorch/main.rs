//! A network whose weights a PyTorch script has written: `train.py`, beside this file. It is declared
//! with the script's names, takes over the file of `torch.save` as it is, and gives what PyTorch gives.
//!
//! ```sh
//! cargo run --release --example from_pytorch
//! cargo run --release --example from_pytorch -- --device cpu
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::path::PathBuf;

use clap::Parser;
use sluice::nn::{
    BatchNorm1d, Conv1d, Embedding, GELU, GRU, Linear, Sequential, TransformerEncoderLayer,
    TransformerOptions, sequential,
};
use sluice::prelude::*;
use sluice::{ConvOptions, pytorch, safetensors};

/// The sizes of the script.
const TOKENS: usize = 20;
const WIDTH: usize = 16;
const CLASSES: usize = 3;

/// Loads the weights that a PyTorch script has written.
#[derive(Parser)]
struct FromPytorchArgs {
    /// The device to compute on: cpu, cuda or cuda:N; a GPU, where there is one, if it is not given.
    #[arg(long)]
    device: Option<Device>,
    /// The folder of the script's files.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/from_pytorch"))]
    folder: PathBuf,
}

/// Gives each token of a sequence a class. The fields are called as the attributes in the script.
#[derive(Module)]
struct Tagger {
    tokens: Embedding,
    neighbours: Sequential,
    memory: GRU,
    attention: TransformerEncoderLayer,
    head: Linear,
}

impl Tagger {
    fn new() -> Result<Tagger> {
        let convolution = Conv1d::new(WIDTH, WIDTH, 3, ConvOptions::new().padding(1))?;
        let options =
            TransformerOptions::new().dim_feedforward(32).norm_first(true).batch_first(true);
        Ok(Tagger {
            tokens: Embedding::new(TOKENS, WIDTH)?,
            neighbours: sequential![convolution.without_bias(), BatchNorm1d::new(WIDTH)?, GELU],
            memory: GRU::builder(WIDTH, WIDTH / 2).batch_first().bidirectional().build()?,
            attention: TransformerEncoderLayer::new(WIDTH, 2, options)?,
            head: Linear::new(WIDTH, CLASSES)?,
        })
    }
}

impl Forward for Tagger {
    type Output = Tensor;

    /// The scores of the classes at each place of `[batch, time]`.
    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let x = self.tokens.forward(text)?;
        let x = self.neighbours.forward(&x.transpose(1, 2)?)?.transpose(1, 2)?;
        let (x, _) = self.memory.forward(&x)?;
        self.head.forward(&self.attention.forward(&x)?)
    }
}

fn main() -> Result<()> {
    let args = FromPytorchArgs::parse();
    let available = || if cuda::is_available() { Device::cuda() } else { Device::Cpu };
    let device = args.device.unwrap_or_else(available);

    let state = pytorch::load(args.folder.join("model.pt"), device)?;
    let mut model = Tagger::new()?;
    model.to(device)?;
    // A name that is missing or left over would be an error, and so would another shape.
    model.load_state_dict(&state)?;
    model.eval();
    println!("{} tensors from {}", state.len(), args.folder.join("model.pt").display());

    let expected = safetensors::load(args.folder.join("expected.safetensors"), device)?;
    let scores = no_grad(|| model.forward(&expected["text"]))?;
    let off = (&scores - &expected["scores"])?.abs()?.amax(())?.item::<f32>()?;
    println!("the scores on {device} are PyTorch's up to {off:.1e}");
    assert!(scores.allclose(&expected["scores"], 1e-4, 1e-4)?, "they differ by {off}");

    // From here on the network is like any other: it is trained on, or saved for PyTorch.
    let path =
        std::env::temp_dir().join(format!("from-pytorch-{}.safetensors", std::process::id()));
    safetensors::save(&path, &model.state_dict())?;
    println!("for `safetensors.torch.load_file`: {} bytes", std::fs::metadata(&path)?.len());
    std::fs::remove_file(path)?;
    Ok(())
}
