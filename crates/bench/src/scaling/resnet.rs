//! ResNet-50 (He et al., "Deep Residual Learning for Image Recognition", CVPR 2016), in which a
//! block's second convolution has the stride, as in torchvision.

use super::profile::{LayerCost, time};

const IMAGES: usize = 64;
const CLASSES: usize = 1000;
/// Blocks and width of each stage.
const STAGES: [(usize, usize); 4] = [(3, 64), (4, 128), (6, 256), (3, 512)];
/// A block's output has so many times its width.
const EXPANSION: usize = 4;

pub(super) fn layers() -> Vec<LayerCost> {
    // The pooling that halves the size again is no layer of its own.
    let mut layers = vec![convolution(3, 64, 7, 224, 112)];
    let (mut channels, mut size) = (64, 56);
    for (stage, (blocks, width)) in STAGES.into_iter().enumerate() {
        for block in 0..blocks {
            let smaller = if stage > 0 && block == 0 { size / 2 } else { size };
            let output = EXPANSION * width;
            layers.push(convolution(channels, width, 1, size, size));
            layers.push(convolution(width, width, 3, size, smaller));
            layers.push(convolution(width, output, 1, smaller, smaller));
            if block == 0 {
                layers.push(convolution(channels, output, 1, size, smaller));
            }
            (channels, size) = (output, smaller);
        }
    }
    layers.push(classifier(channels));
    layers
}

/// A convolution, the normalisation of its output, and the ReLU.
fn convolution(from: usize, to: usize, kernel: usize, size: usize, after: usize) -> LayerCost {
    let weight = from * to * kernel * kernel;
    let (input, output) = (IMAGES * from * size * size, IMAGES * to * after * after);
    let operations = 2.0 * (output * from * kernel * kernel) as f64;
    // The convolution reads its input and writes its output; the normalisation reads that for mean
    // and variance, and again for its own result, which it writes.
    let moved = (input + 4 * output + weight) as f64;
    // Gradients: of the normalisation two passes over its input and its output's gradient and a
    // write; of the convolution by its input and by its weight.
    let back = (2 * input + 7 * output + 2 * weight) as f64;
    let normalisation = time(0.0, (3 * output) as f64);
    LayerCost {
        parameters: vec![weight, to, to],
        channels: Some(to),
        forward: time(operations, moved - (3 * output) as f64) + normalisation,
        backward: time(2.0 * operations, back - (5 * output) as f64)
            + time(0.0, (5 * output) as f64),
    }
}

fn classifier(channels: usize) -> LayerCost {
    let weight = channels * CLASSES;
    let operations = 2.0 * (IMAGES * weight) as f64;
    LayerCost {
        parameters: vec![weight, CLASSES],
        channels: None,
        forward: time(operations, weight as f64),
        backward: time(2.0 * operations, 2.0 * weight as f64),
    }
}
