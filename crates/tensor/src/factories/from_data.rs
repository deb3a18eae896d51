//! Tensors made from Rust data.

use crate::host;
use crate::reserve::try_with_capacity;
use crate::storage::Fresh;
use crate::{DType, Element, Error, Result, Shape, Tensor, TensorOptions, default_dtype};

use super::creation::{finish, only_on_host};
use super::data::{Data, Number};

impl Tensor {
    /// A tensor of a number, or of nested arrays, slices and vectors of numbers, with a dimension
    /// for each level (`torch.tensor`). If the options leave the dtype open, `f64`, the type of Rust's
    /// literals, takes the default dtype; other numbers keep their type (`I64` for `i32`).
    /// [`Tensor::from_vec`] keeps `f64`, too.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], ())?;
    /// assert_eq!((x.shape(), x.dtype()), (&[2, 2][..], DType::F32));
    /// assert_eq!(Tensor::new([1.0, 2.0], DType::F64)?.dtype(), DType::F64);
    /// let y = Tensor::new(vec![1, 2, 3], DType::F16)?;
    /// assert_eq!((y.shape(), y.dtype()), (&[3][..], DType::F16));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or the data is ragged ([`Error::Ragged`]).
    #[track_caller]
    pub fn new<D: Data>(data: D, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let (numbers, shape) = flatten("new", &data)?;
        let options = match ElementOf::<D>::DTYPE {
            DType::F64 => options.into().or_dtype(default_dtype()),
            _ => options.into(),
        };
        from_elements("new", &numbers, shape, options)
    }

    /// A tensor of the given shape from its elements in row-major order.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2], ())?;
    /// assert_eq!(x.select(0, 1)?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or there are not as many elements as the shape has.
    #[track_caller]
    pub fn from_vec<T: Element>(
        elements: Vec<T>,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        from_elements("from_vec", &elements, shape.into(), options.into())
    }
}

/// The type of the elements that data of the type `D` is stored as.
type ElementOf<D> = <<D as Data>::Number as Number>::Stored;

/// The numbers of nested data in row-major order, and its shape.
#[track_caller]
pub(super) fn flatten<D: Data>(op: &'static str, data: &D) -> Result<(Vec<ElementOf<D>>, Shape)> {
    let mut shape = Vec::new();
    D::measure(Some(data), &mut shape);
    let shape = Shape::from(shape);
    let mut numbers = try_with_capacity(shape.numel())?;
    data.append(op, &shape, &mut numbers)?;
    Ok((numbers, shape))
}

/// A tensor as the options say, from elements in row-major order. If the options leave the dtype
/// open it is that of the elements. The elements are copied when this returns.
#[track_caller]
pub(super) fn from_elements<T: Element>(
    op: &'static str,
    elements: &[T],
    shape: Shape,
    options: TensorOptions,
) -> Result<Tensor> {
    if shape.checked_numel() != Some(elements.len()) {
        return Err(Error::WrongNumel { op, numel: elements.len(), shape });
    }
    let options = options.or_dtype(T::DTYPE);
    let (dtype, device) = (options.resolve_dtype(), options.resolve_device()?.to_device());
    let tensor = if options.is_pinned() {
        only_on_host(op, device)?;
        pinned(elements, shape, dtype)?
    } else {
        host::elements::tensor_of(elements, shape)?.to((dtype, device))?
    };
    finish(op, tensor, options)
}

/// A tensor in page-locked memory, converted to `dtype`.
#[track_caller]
fn pinned<T: Element>(elements: &[T], shape: Shape, dtype: DType) -> Result<Tensor> {
    let tensor = Tensor::pinned(shape.clone(), dtype, Fresh::Overwritten)?;
    tensor.copy_(&host::elements::tensor_of(elements, shape)?)
}
