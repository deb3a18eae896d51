//! Networks as what they cost: sizes of parameters and times of kernels, layer by layer.

use std::time::Duration;

use clap::ValueEnum;

use super::{resnet, transformer};

/// A network and a batch for each device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// 12 layers of width 768, a vocabulary of 32,768, 8 sequences of 1,024 tokens for each device
    Transformer,
    /// One linear layer whose gradient fills a bucket: small enough for tensors of their true size
    Layer,
    /// ResNet-50, 64 images of 224x224 for each device
    Resnet50,
}

/// A layer as what it costs: one kernel forward, and one backward.
#[derive(Clone, Debug)]
pub(super) struct LayerCost {
    /// The elements of each parameter.
    pub(super) parameters: Vec<usize>,
    /// The channels of a normalisation that keeps a mean and a variance of each.
    pub(super) channels: Option<usize>,
    pub(super) forward: Duration,
    pub(super) backward: Duration,
}

/// Floating-point operations per second of products of matrices: 40 % of the 494.5 TFLOP/s that an
/// H200's tensor cores reach in TF32 without sparsity (data sheet: 989 with it).
const ARITHMETIC: f64 = 0.4 * 494.5e12;

/// Bytes per second between an H200's memory and its processors, as in the time model.
const MEMORY: f64 = 4.35e12;

/// The size of a number, in bytes.
const NUMBER: f64 = 4.0;

impl Profile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Profile::Transformer => "transformer",
            Profile::Layer => "layer",
            Profile::Resnet50 => "resnet50",
        }
    }

    /// The layers, in the order of the forward pass.
    pub(super) fn layers(self) -> Vec<LayerCost> {
        match self {
            Profile::Transformer => transformer::layers(),
            Profile::Layer => transformer::bucket(),
            Profile::Resnet50 => resnet::layers(),
        }
    }
}

/// The time of a kernel that does so many operations and moves so many numbers: that of the slower of
/// the two.
pub(super) fn time(operations: f64, numbers: f64) -> Duration {
    Duration::from_secs_f64((operations / ARITHMETIC).max(numbers * NUMBER / MEMORY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(profile: Profile) -> usize {
        profile.layers().iter().flat_map(|layer| &layer.parameters).sum()
    }

    #[test]
    fn the_profiles_have_the_parameters_of_their_networks() {
        // 12 * (12 * 768^2 + 13 * 768) + (32768 + 1024) * 768 + 2 * 768
        assert_eq!(parameters(Profile::Transformer), 111_008_256);
        // torchvision.models.resnet50
        assert_eq!(parameters(Profile::Resnet50), 25_557_032);
        let tensors = Profile::Resnet50.layers().into_iter().flat_map(|layer| layer.parameters);
        assert_eq!(tensors.count(), 161);
    }
}
