//! New tensors of a shape: empty, filled with a value, sequences, random numbers.

use crate::dispatch::abi::Range;
use crate::dispatch::{self, working_dtype};
use crate::factories::Steps;
use crate::random::distribute;
use crate::reserve::try_with_capacity;
use crate::resolved_device::ResolvedDevice;
use crate::storage::Fresh;
use crate::{DType, Device, Error, Result, Scalar, Shape, Tensor, TensorOptions};

use super::from_data::from_elements;

/// The operator that writes evenly spaced numbers.
static ARANGE: dispatch::Operator<Range> =
    dispatch::Operator::new("arange", crate::host::range::ARANGE);

impl Tensor {
    /// A tensor whose elements have no meaning until they are written: the memory is as the last
    /// tensor left it, or zeros.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::empty([2, 3], DType::I64)?;
    /// assert_eq!((x.shape(), x.dtype()), (&[2, 3][..], DType::I64));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such device, no memory left, or the options contradict each other (page-locked
    /// memory on CUDA, gradients of integers).
    #[track_caller]
    pub fn empty(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let options = options.into();
        // Any byte is a number, but only two are truth values.
        let fresh = match options.resolve_dtype() {
            DType::Bool => Fresh::Zeroed,
            _ => Fresh::Initialized,
        };
        finish("empty", allocate("empty", shape.into(), options, fresh)?, options)
    }

    /// A tensor of zeros.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I64)?;
    /// assert_eq!((x.shape(), x.to_vec::<i64>()?), (&[2, 3][..], vec![0; 6]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let options = options.into();
        let tensor = allocate("zeros", shape.into(), options, Fresh::Zeroed)?;
        if tensor.is_cuda() {
            tensor.zero_()?;
        }
        finish("zeros", tensor, options)
    }

    /// A tensor of ones.
    ///
    /// ```
    /// use tensor::Tensor;
    /// assert_eq!(Tensor::ones([2], ())?.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        filled("ones", shape.into(), Scalar::Int(1), options.into())
    }

    /// A tensor filled with a value. If the options leave the dtype open it is the default dtype
    /// for a float, `I64` for an integer and `Bool` for a truth value.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::full([2, 2], 7.5, ())?;
    /// assert_eq!(x.to_vec::<f32>()?, [7.5, 7.5, 7.5, 7.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let value = value.into();
        filled("full", shape.into(), value, of_kind(value, options.into()))
    }

    /// A 0-dimensional tensor of a number; its dtype is as for [`Tensor::full`].
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::scalar(2.5, ())?;
    /// assert_eq!((x.dims(), x.item::<f32>()?), (0, 2.5));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn scalar(value: impl Into<Scalar>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let value = value.into();
        filled("scalar", Shape::default(), value, of_kind(value, options.into()))
    }

    /// The identity matrix with `n` rows.
    ///
    /// ```
    /// use tensor::Tensor;
    /// assert_eq!(Tensor::eye(2, ())?.to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn eye(n: usize, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::eye_with(n, n, options)
    }

    /// The numbers from a start, by steps, up to but not including an end. If the options leave the
    /// dtype open it is `I64` for integers, else the default dtype.
    ///
    /// ```
    /// use tensor::Tensor;
    /// assert_eq!(Tensor::arange(3, ())?.to_vec::<i64>()?, [0, 1, 2]);
    /// assert_eq!(Tensor::arange(2.0..4.0, ())?.to_vec::<f32>()?, [2.0, 3.0]);
    /// assert_eq!(Tensor::arange((5, 0, -2), ())?.to_vec::<i64>()?, [5, 3, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or the steps are zero or lead away from the end, or a bound is not
    /// finite.
    #[track_caller]
    pub fn arange(steps: impl Into<Steps>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        const OP: &str = "arange";
        let (steps, mut options) = (steps.into(), options.into());
        if steps.is_whole() {
            options = options.or_dtype(DType::I64);
        }
        let tensor = allocate(OP, steps.count(OP)?.into(), options, Fresh::Overwritten)?;
        let call = Range {
            out: 0,
            numel: 0,
            start: steps.start.to_f64(),
            step: steps.step.to_f64(),
            istart: steps.start.to_i64(),
            istep: steps.step.to_i64(),
        };
        let dtype = working_dtype(&tensor, tensor.dtype());
        if dtype == tensor.dtype() {
            dispatch::range(&ARANGE, &tensor, call)?;
        } else {
            let (shape, device) = (tensor.layout().shape().clone(), tensor.resolved_device());
            let numbers = Tensor::uninit(shape, dtype, device)?;
            dispatch::range(&ARANGE, &numbers, call)?;
            tensor.copy_(&numbers)?;
        }
        finish(OP, tensor, options)
    }

    /// `count` evenly spaced numbers from `start` to `end`, both included. For an integer dtype the
    /// bounds are truncated first, and then the numbers.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::linspace(0.0, 1.0, 5, ())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn linspace(
        start: f64,
        end: f64,
        count: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let options = options.into().or_dtype(crate::default_dtype());
        let bounds = [start, end].map(|bound| bound_of(options.resolve_dtype(), bound));
        let numbers = spaced(bounds, bounds[1] - bounds[0], count)?;
        from_elements("linspace", &numbers, count.into(), options)
    }

    /// `count` numbers from `base` to the power of `start` to `base` to the power of `end`, whose
    /// exponents are evenly spaced.
    ///
    /// ```
    /// use tensor::Tensor;
    /// assert_eq!(Tensor::logspace(0.0, 2.0, 3, 10.0, ())?.to_vec::<f32>()?, [1.0, 10.0, 100.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn logspace(
        start: f64,
        end: f64,
        count: usize,
        base: f64,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let options = options.into().or_dtype(crate::default_dtype());
        let dtype = options.resolve_dtype();
        let bounds = [start, end].map(|bound| bound_of(dtype, bound));
        // As in PyTorch, whose exponents in half precision are spread over the rounded difference.
        let difference = bound_of(dtype, bounds[1] - bounds[0]);
        // And whose only number is the power of what was given, of any dtype.
        let bounds = if count == 1 { [start, end] } else { bounds };
        let mut numbers = spaced(bounds, difference, count)?;
        numbers.iter_mut().for_each(|number| *number = base.powf(*number));
        from_elements("logspace", &numbers, count.into(), options)
    }

    /// A tensor of uniform random numbers in [0, 1), from the [generator](crate::generator) of its
    /// device.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::rand([100], ())?;
    /// assert!(x.ge(0.0)?.all(())?.item::<bool>()? && x.lt(1.0)?.all(())?.item::<bool>()?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or the dtype is not a floating-point one.
    #[track_caller]
    pub fn rand(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let options = options.into();
        let tensor = allocate("rand", shape.into(), options, Fresh::Overwritten)?;
        distribute::uniform(&tensor, 0.0, 1.0)?;
        finish("rand", tensor, options)
    }

    /// A tensor of normally distributed random numbers with mean 0 and variance 1.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::randn([10_000], ())?;
    /// assert!(x.mean(())?.item::<f32>()?.abs() < 0.1);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or the dtype is not a floating-point one.
    #[track_caller]
    pub fn randn(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let options = options.into();
        let tensor = allocate("randn", shape.into(), options, Fresh::Overwritten)?;
        distribute::normal(&tensor, 0.0, 1.0)?;
        finish("randn", tensor, options)
    }

    /// A tensor of random integers in [low, high), of dtype `I64` if the options leave it open.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let dice = Tensor::randint(1, 7, [100], DType::I64)?;
    /// assert!(dice.min()?.item::<i64>()? >= 1 && dice.max()?.item::<i64>()? <= 6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or there is no number in the range, or not all fit the dtype.
    #[track_caller]
    pub fn randint(
        low: i64,
        high: i64,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        const OP: &str = "randint";
        let options = options.into().or_dtype(DType::I64);
        distribute::check_integers(OP, low, high, options.resolve_dtype())?;
        let tensor = allocate(OP, shape.into(), options, Fresh::Overwritten)?;
        distribute::integers(&tensor, low, high)?;
        finish(OP, tensor, options)
    }

    /// The numbers from 0 to `n - 1` in random order, of dtype `I64` if the options leave it open.
    /// The order is made on the host, with the generator of the tensor's device.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let order = Tensor::randperm(5, DType::I64)?;
    /// assert_eq!(order.sum(())?.item::<i64>()?, 10, "each of 0 to 4 once");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn randperm(n: usize, options: impl Into<TensorOptions>) -> Result<Tensor> {
        let options = options.into().or_dtype(DType::I64);
        let order = distribute::permutation(options.resolve_device()?, n)?;
        from_elements("randperm", &order, n.into(), options)
    }
}

/// A bound of a sequence as PyTorch has it, which converts bounds to the dtype before the steps are
/// computed.
fn bound_of(dtype: DType, bound: f64) -> f64 {
    match dtype.is_float() {
        true => Scalar::from_bits(Scalar::Float(bound).bits(dtype), dtype).to_f64(),
        false => bound.trunc(),
    }
}

/// Evenly spaced numbers. `difference` is that of the bounds.
fn spaced([start, end]: [f64; 2], difference: f64, count: usize) -> Result<Vec<f64>> {
    let step = if count > 1 { difference / (count - 1) as f64 } else { 0.0 };
    // From both ends towards the middle, so that both are met exactly.
    let number = |i: usize| match i {
        _ if i < count / 2 || count == 1 => start + step * i as f64,
        _ => end - step * (count - 1 - i) as f64,
    };
    let mut numbers = try_with_capacity(count)?;
    numbers.extend((0..count).map(number));
    Ok(numbers)
}

/// A new tensor as the options say. It does not require gradients yet, so that it can be written.
#[track_caller]
pub(super) fn allocate(
    op: &'static str,
    shape: Shape,
    options: TensorOptions,
    fresh: Fresh,
) -> Result<Tensor> {
    let (dtype, device) = (options.resolve_dtype(), options.resolve_device()?);
    if options.is_pinned() {
        only_on_host(op, device.to_device())?;
        return Tensor::pinned(shape, dtype, fresh);
    }
    match (device, fresh) {
        (ResolvedDevice::Cpu, fresh) => Tensor::fresh(shape, dtype, fresh),
        (device, _) => Tensor::uninit(shape, dtype, device),
    }
}

/// The finished tensor, which requires gradients if the options say so.
pub(super) fn finish(op: &'static str, tensor: Tensor, options: TensorOptions) -> Result<Tensor> {
    if options.wants_grad() { tensor.into_leaf(op) } else { Ok(tensor) }
}

/// A new tensor that is filled with a value.
#[track_caller]
pub(super) fn filled(
    op: &'static str,
    shape: Shape,
    value: Scalar,
    options: TensorOptions,
) -> Result<Tensor> {
    let tensor = allocate(op, shape, options, Fresh::Overwritten)?;
    tensor.fill_new(value)?;
    finish(op, tensor, options)
}

/// Refuses page-locked memory for a tensor of another device than the CPU.
pub(super) fn only_on_host(op: &'static str, device: Device) -> Result<()> {
    if device == Device::Cpu {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        op,
        argument: "pinned",
        value: format!("true on {device}"),
        why: "only memory of the CPU can be page-locked",
    })
}

/// The options, with the dtype for the value's category if they leave it open.
fn of_kind(value: Scalar, options: TensorOptions) -> TensorOptions {
    match value {
        Scalar::Float(_) => options,
        Scalar::Int(_) => options.or_dtype(DType::I64),
        Scalar::Bool(_) => options.or_dtype(DType::Bool),
    }
}
