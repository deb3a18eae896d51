//! Tensors of all shapes, dtypes and places, views of each other, and what goes with them.

use tensor::{
    Blocking, DType, Device, Generator, Scalar, Shape, Tensor, TensorOptions, To, ViewShape,
};

use super::Draw;

const DTYPES: [DType; 6] = [DType::F16, DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool];

/// A tensor or a number, owned.
pub(crate) enum OwnedOperand {
    Tensor(Tensor),
    Number(Scalar),
}

impl OwnedOperand {
    pub(crate) fn get(&self) -> tensor::TensorOrScalar<'_> {
        match self {
            OwnedOperand::Tensor(tensor) => tensor.into(),
            OwnedOperand::Number(number) => (*number).into(),
        }
    }
}

impl Draw {
    pub(crate) fn dtype(&mut self) -> Option<DType> {
        let dtype = if self.rng.one_in(2) { DType::F32 } else { self.rng.pick(&DTYPES) };
        Some(self.told("dtype", dtype))
    }

    pub(crate) fn device(&mut self) -> Option<Device> {
        let device = match self.rng.below(20) {
            0 => Device::cuda_at(self.size()?),
            1 => Device::cuda(),
            2..10 => Device::cuda_at(self.rng.below(2)),
            _ => Device::Cpu,
        };
        Some(self.told("device", device))
    }

    pub(crate) fn devices(&mut self) -> Option<Vec<Device>> {
        (0..self.rng.below(4)).map(|_| self.device()).collect()
    }

    pub(crate) fn target(&mut self) -> Option<To> {
        Some(match self.rng.below(3) {
            0 => self.dtype()?.into(),
            1 => self.device()?.into(),
            _ => (self.dtype()?, self.device()?).into(),
        })
    }

    pub(crate) fn blocking(&mut self) -> Option<Blocking> {
        Some(self.rng.pick(&[Blocking::Yes, Blocking::No]))
    }

    pub(crate) fn options(&mut self) -> Option<TensorOptions> {
        let mut options = TensorOptions::new();
        if self.rng.one_in(2) {
            options = options.dtype(self.dtype()?);
        }
        if self.rng.one_in(2) {
            options = options.device(self.device()?);
        }
        let options = options.pinned(self.rng.one_in(6)).requires_grad(self.rng.one_in(6));
        Some(self.told("options", options))
    }

    pub(crate) fn shape(&mut self) -> Option<Shape> {
        self.sizes().map(Into::into)
    }

    /// Sizes for a view: what the last tensor has, in another order, or anything.
    pub(crate) fn view_shape(&mut self) -> Option<ViewShape> {
        let of_last = self.seen.last().filter(|_| self.rng.clone().one_in(2));
        let mut sizes: Vec<isize> = match of_last {
            Some(last) => last.shape().iter().map(|&size| size as isize).collect(),
            None => self.sizes()?.into_iter().map(|size| size as isize).collect(),
        };
        match self.rng.below(8) {
            0 => sizes.push(-1),
            1 => sizes.reverse(),
            2 => sizes.insert(0, self.rng.below(4) as isize),
            3 => sizes.push(1),
            4 => sizes.push(self.rng.pick(&[isize::MIN, isize::MAX, -2])),
            5 => sizes = vec![-1],
            _ => {}
        }
        Some(self.told("view", sizes).into())
    }

    pub(crate) fn generator(&mut self) -> Option<Generator> {
        tensor::generator(self.device()?).ok()
    }

    pub(crate) fn operand(&mut self) -> Option<OwnedOperand> {
        Some(if self.rng.one_in(4) {
            OwnedOperand::Number(self.scalar()?)
        } else {
            OwnedOperand::Tensor(self.tensor()?)
        })
    }

    pub(crate) fn maybe_tensor(&mut self) -> Option<Option<Tensor>> {
        Some(if self.rng.one_in(4) { None } else { self.tensor() })
    }

    pub(crate) fn owned_tensors(&mut self) -> Option<Vec<Tensor>> {
        (0..self.rng.below(4)).map(|_| self.tensor()).collect()
    }

    /// A tensor; after the first of a case mostly one that fits it, or a view of it.
    pub(crate) fn tensor(&mut self) -> Option<Tensor> {
        let tensor = if !self.seen.is_empty() && self.rng.one_in(5) {
            let at = self.rng.below(self.seen.len());
            self.seen[at].clone()
        } else {
            self.made()?
        };
        let tensor = self.viewed(tensor);
        if self.tells {
            let flags = (tensor.is_pinned(), tensor.requires_grad(), tensor.is_contiguous());
            println!(
                "  tensor {:?} strides {:?} {:?} {:?} (pinned, grad, dense) {flags:?}",
                tensor.shape(),
                tensor.strides(),
                tensor.dtype(),
                tensor.device()
            );
        }
        self.seen.push(tensor.clone());
        Some(tensor)
    }

    /// Indices: mostly such as there are. On CUDA one that is out of range costs the device, so it
    /// is rare there.
    pub(crate) fn index(&mut self) -> Option<Tensor> {
        let like = self.seen.first().cloned();
        let (dims, device) = like.map_or((1, Device::Cpu), |t| (t.dims(), t.device()));
        let device = if self.rng.one_in(8) { self.device()? } else { device };
        let dims = if self.rng.one_in(2) { 1 } else { dims.min(4) };
        let shape: Vec<usize> = (0..dims).map(|_| self.rng.below(3)).collect();
        let wild = self.rng.one_in(if device.is_cuda() { 300 } else { 8 });
        let values: Vec<i64> = (0..shape.iter().product())
            .map(|_| if wild { self.integer().unwrap_or(0) } else { i64::from(self.rng.one_in(3)) })
            .collect();
        let index = Tensor::from_vec(values, shape, device).ok()?;
        Some(self.told("index", index))
    }

    fn made(&mut self) -> Option<Tensor> {
        let like = self.seen.first().filter(|first| first.numel() <= 4096).cloned();
        let like = like.filter(|_| !self.rng.one_in(3));
        let (shape, dtype, device) = match &like {
            Some(like) => {
                let dtype = if self.rng.one_in(6) { self.dtype()? } else { like.dtype() };
                let device = if self.rng.one_in(10) { self.device()? } else { like.device() };
                (like.shape().to_vec(), dtype, device)
            }
            None => (self.sizes()?, self.dtype()?, self.device()?),
        };
        let options = TensorOptions::new().dtype(dtype).device(device);
        let options = options.pinned(device == Device::Cpu && self.rng.one_in(5));
        let wants_grad = dtype.is_float() && self.rng.one_in(5);
        let shape = if self.rng.one_in(150) { vec![3, 20_000] } else { shape };
        let made = match self.rng.below(4) {
            0 => Tensor::zeros(shape, options),
            1 => Tensor::full(shape, self.contents(dtype, device)?, options),
            2 => Tensor::rand(shape.clone(), options).or_else(|_| Tensor::ones(shape, options)),
            _ => Tensor::ones(shape, options),
        };
        let made = made.or_else(|_| Tensor::ones([2, 3], dtype)).ok()?;
        Some(if wants_grad { made.requires_grad_(true).ok()? } else { made })
    }

    /// The value that a tensor is filled with. Whole numbers may serve as indices.
    fn contents(&mut self, dtype: DType, device: Device) -> Option<Scalar> {
        if dtype == DType::I64 && !self.rng.one_in(if device.is_cuda() { 100 } else { 4 }) {
            return Some(Scalar::Int(self.rng.below(3) as i64));
        }
        self.scalar()
    }

    fn viewed(&mut self, tensor: Tensor) -> Tensor {
        let dims = tensor.dims();
        let dim = if dims == 0 { 0 } else { self.rng.below(dims) as isize };
        let view = match self.rng.below(20) {
            0 => tensor.transpose(0, -1),
            1 => tensor.narrow(dim, 0, 1),
            2 => tensor.slice(dim, 0, isize::MAX, 2),
            3 => tensor.unsqueeze(0),
            4 => tensor.select(dim, 0),
            5 => tensor.narrow(dim, 0, 0),
            6 => tensor.unsqueeze(0).and_then(|view| view.expand(with_first(&view, 4))),
            7 => {
                let huge = self.rng.pick(&[isize::MAX as usize, 1 << 62, (1 << 61) + 1]);
                let mut one = Ok(tensor.clone());
                for _ in 0..dims {
                    one = one.and_then(|view| view.select(0, 0));
                }
                one.and_then(|view| view.expand([huge]))
            }
            8 => Ok(tensor.detach()),
            9 => tensor.mul(2),
            _ => return tensor,
        };
        view.unwrap_or(tensor)
    }

    /// Uses what a function gave.
    pub(crate) fn look(&mut self, tensor: Option<Tensor>) {
        let Some(tensor) = tensor.filter(|tensor| tensor.numel() <= 100_000) else { return };
        if self.tells {
            println!("  gives {:?} {:?} {:?}", tensor.shape(), tensor.dtype(), tensor.device());
        }
        if tensor.requires_grad() && self.rng.one_in(3) {
            let _ = tensor.sum(()).and_then(|sum| sum.backward());
        }
        match self.rng.below(4) {
            0 => drop(tensor.to(DType::F64).and_then(|wide| wide.to_vec::<f64>())),
            1 => drop(tensor.add(1)),
            2 => drop(format!("{tensor}")),
            _ => {}
        }
    }

    pub(crate) fn look_at_all(&mut self, tensors: tensor::Result<Vec<Tensor>>) {
        for tensor in tensors.into_iter().flatten() {
            self.look(Some(tensor));
        }
    }

    /// Numbers, nested.
    pub(crate) fn data(&mut self) -> Option<Vec<Vec<f32>>> {
        let rows = self.rng.below(3);
        Some((0..rows).map(|_| vec![1.5f32; self.rng.below(3)]).collect())
    }
}

fn with_first(view: &Tensor, first: usize) -> Vec<usize> {
    let mut shape = view.shape().to_vec();
    shape[0] = first;
    shape
}
