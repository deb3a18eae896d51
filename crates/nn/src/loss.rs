//! Losses, as functions (`torch.nn.functional`).

use tensor::Tensor;

use crate::Result;

/// The mean cross-entropy between `logits` `[batch, classes]` and the classes `target` `[batch]`
/// (int64): `mean(-log_softmax(logits)[i, target[i]])`.
///
/// # Errors
/// Shapes or devices differ, or `target` is not int64. A class out of range is an error on the CPU
/// and a device-side assert on CUDA.
///
/// ```
/// use nn::loss::cross_entropy;
/// use tensor::tensor;
/// let loss = cross_entropy(&tensor![[0.0, 0.0]]?, &tensor![1]?)?;
/// assert!((loss.item::<f32>()? - 2.0f32.ln()).abs() < 1e-6);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn cross_entropy(logits: &Tensor, target: &Tensor) -> Result<Tensor> {
    logits.cross_entropy(target)
}

/// The mean negative log likelihood of the classes `target` under `log_probabilities`.
///
/// # Errors
/// As [`cross_entropy`].
///
/// ```
/// use nn::loss::nll_loss;
/// use tensor::tensor;
/// assert_eq!(nll_loss(&tensor![[-1.0, -3.0]]?, &tensor![1]?)?.item::<f32>()?, 3.0);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn nll_loss(log_probabilities: &Tensor, target: &Tensor) -> Result<Tensor> {
    log_probabilities.nll_loss(target)
}

/// The mean of the squared differences, as a 0-dimensional tensor.
///
/// # Errors
/// Shapes or devices differ, or the dtype is not a floating-point one.
///
/// ```
/// use nn::loss::mse_loss;
/// use tensor::tensor;
/// assert_eq!(mse_loss(&tensor![1.0, 2.0]?, &tensor![1.0, 4.0]?)?.item::<f32>()?, 2.0);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn mse_loss(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    input.mse_loss(target)
}
