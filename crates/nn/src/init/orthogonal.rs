//! Orthogonal matrices.

use tensor::{DType, Device, Tensor, no_grad};

use super::wrong_dims;
use crate::Result;

/// Overwrites a weight with a random orthogonal matrix times `gain`: Saxe et al., "Exact solutions to
/// the nonlinear dynamics of learning in deep linear neural networks" (2013). The dimensions behind the
/// first count as one; of the rows and columns, the fewer are orthonormal. The matrix is made on the
/// host, by reflections, of normal numbers of the tensor's device.
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::orthogonal_(&Tensor::zeros([3, 5], ())?, 1.0)?;
/// let product = weight.matmul(&weight.t()?)?;
/// assert!(product.allclose(&Tensor::eye(3, ())?, 1e-5, 1e-5)?);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor has fewer than two dimensions, or is of no floating dtype.
#[track_caller]
pub fn orthogonal_(tensor: &Tensor, gain: f64) -> Result<Tensor> {
    if tensor.dims() < 2 {
        return Err(wrong_dims("orthogonal_", tensor, "it must have two dimensions or more"));
    }
    no_grad(|| {
        tensor.normal_(0.0, 1.0)?;
        if tensor.numel() == 0 {
            return Ok(tensor.clone());
        }
        let (rows, columns) = (tensor.shape()[0], tensor.numel() / tensor.shape()[0]);
        let (long, short) = (rows.max(columns), rows.min(columns));
        let matrix = tensor.to((DType::F64, Device::Cpu))?.reshape([rows, columns])?;
        // The vectors that are made orthonormal, one after the other.
        let vectors = if rows < columns { matrix } else { matrix.t()? };
        let mut vectors = vectors.contiguous()?.to_vec::<f64>()?;
        orthonormalize(&mut vectors, long);
        vectors.iter_mut().for_each(|number| *number *= gain);
        let vectors = Tensor::from_vec(vectors, [short, long], Device::Cpu)?;
        let matrix = if rows < columns { vectors } else { vectors.t()? };
        tensor.copy_(&matrix.reshape(tensor.shape())?)
    })
}

/// Makes vectors of `size` numbers orthonormal: the factor Q of their QR decomposition, by the
/// reflections of Householder (Golub & Van Loan, "Matrix Computations", 5.2), whose columns have the
/// signs of R's diagonal. So it is evenly distributed among all orthogonal matrices, if the numbers are
/// normal ones (Mezzadri, "How to generate random matrices from the classical compact groups", 2007).
fn orthonormalize(vectors: &mut [f64], size: usize) {
    let count = vectors.len() / size;
    // Each vector becomes the axis of a reflection, with zeros before its own place.
    let mut signs = Vec::with_capacity(count);
    for at in 0..count {
        let (_, rest) = vectors.split_at_mut(at * size);
        let (vector, later) = rest.split_at_mut(size);
        vector[..at].fill(0.0);
        let norm = dot(vector, vector).sqrt();
        let head = vector[at];
        // R has the norm with the other sign on its diagonal: so nothing is cancelled.
        signs.push(if head.is_sign_negative() { 1.0 } else { -1.0 });
        vector[at] += norm.copysign(head);
        let length = dot(vector, vector).sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|number| *number /= length);
        }
        later.chunks_exact_mut(size).for_each(|other| reflect(other, vector));
    }
    // From the last one on, each axis is replaced by the image of a unit vector, which the
    // reflections before it are yet to be applied to.
    for at in (0..count).rev() {
        let (_, rest) = vectors.split_at_mut(at * size);
        let (vector, later) = rest.split_at_mut(size);
        later.chunks_exact_mut(size).for_each(|other| reflect(other, vector));
        let axis = vector.to_vec();
        vector.fill(0.0);
        vector[at] = signs[at];
        reflect(vector, &axis);
    }
}

/// Reflects a vector by the plane that a unit vector is normal to.
fn reflect(vector: &mut [f64], axis: &[f64]) {
    let share = 2.0 * dot(vector, axis);
    vector.iter_mut().zip(axis).for_each(|(number, axis)| *number -= share * axis);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_become_orthonormal_and_the_first_keeps_its_direction() {
        let mut vectors = vec![3.0, 0.0, 4.0, 1.0, 2.0, -1.0];
        orthonormalize(&mut vectors, 3);
        let (first, second) = vectors.split_at(3);
        assert!(
            (dot(first, first) - 1.0).abs() < 1e-15 && (dot(second, second) - 1.0).abs() < 1e-15
        );
        assert!(dot(first, second).abs() < 1e-15);
        assert!((first[0] - 0.6).abs() < 1e-15 && (first[2] - 0.8).abs() < 1e-15);
    }
}
