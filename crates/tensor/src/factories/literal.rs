//! The macro `tensor!`.

/// [`Tensor::new`](crate::Tensor::new) of an array of literals, on the default device: floats take
/// the default dtype, integers `I64`, truth values `Bool`. It gives a `Result<Tensor>`.
///
/// ```
/// use tensor::{DType, tensor};
/// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
/// assert_eq!((x.shape(), x.dtype()), (&[2, 2][..], DType::F32));
/// assert_eq!(tensor![1, 2, 3]?.dtype(), DType::I64);
/// assert_eq!(tensor![]?.shape(), [0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[macro_export]
macro_rules! tensor {
    () => {
        $crate::Tensor::new([0.0; 0], ())
    };
    ($($entry:expr),+ $(,)?) => {
        $crate::Tensor::new([$($entry),+], ())
    };
}
