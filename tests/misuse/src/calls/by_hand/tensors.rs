//! Tensors: elements by type, data, gradients.

use tensor::{Backward, Element, NoGradGuard, Tensor};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::item" => |d| each_type!(d, item);
    "tensor::Tensor::to_vec" => |d| each_type!(d, to_vec);
    "tensor::Tensor::read" => |d| each_type!(d, read);
    "tensor::Tensor::from_storage", "tensor::Storage::pin_memory", "tensor::Storage::ptr_eq" => |d| {
        let (one, two, dtype) = (d.tensor()?, d.tensor()?, d.dtype()?);
        let _ = one.storage().ptr_eq(two.storage());
        d.look(Tensor::from_storage(one.storage(), dtype).ok());
        let pinned = one.storage().pin_memory().ok()?;
        d.look(Tensor::from_storage(&pinned, dtype).ok());
        Some(())
    };
    "tensor::cuda::load_module" => |d| {
        let text = d.text()?;
        drop(tensor::cuda::load_module(d.device()?, text));
        Some(())
    };
    "tensor::Error::other" => |d| {
        let error = tensor::Error::other(d.text()?);
        let _ = (error.to_string(), error.is_out_of_memory());
        Some(())
    };
    "tensor::Tensor::new" => |d| {
        let (data, options) = (d.data()?, d.options()?);
        d.look(Tensor::new(data, options).ok());
        Some(())
    };
    "tensor::Tensor::new_tensor" => |d| {
        let (this, data, options) = (d.tensor()?, d.data()?, d.options()?);
        d.look(this.new_tensor(data, options).ok());
        Some(())
    };
    "tensor::Tensor::from_vec" => |d| match d.rng().below(3) {
        0 => from_vec(d, 1.5f32),
        1 => from_vec(d, true),
        _ => from_vec(d, -1i64),
    };
    "tensor::Tensor::from_bytes" => |d| {
        let (bytes, options) = (d.bytes()?, d.options()?);
        let shape = if d.flag()? { d.sizes()? } else { vec![bytes.len() / d.dtype()?.size()] };
        d.look(Tensor::from_bytes(&bytes, shape, options).ok());
        Some(())
    };
    "tensor::Tensor::to_host_async", "tensor::PendingTensor::wait", "tensor::PendingTensor::is_ready" => |d| {
        let pending = d.tensor()?.to_host_async().ok()?;
        let _ = pending.is_ready();
        if d.flag()? {
            d.look(pending.wait().ok());
        }
        Some(())
    };
    "tensor::Backward::output", "tensor::Backward::output_with", "tensor::Backward::run",
    "tensor::Backward::collect", "tensor::Backward::new", "tensor::Backward::retain_graph" => |d| {
        let (one, two, gradient) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let inputs = d.owned_tensors()?;
        let sum = one.mul(&two).ok()?;
        let mut backward = Backward::new().output(&sum);
        if d.flag()? {
            backward = backward.output_with(&two, &gradient);
        }
        if d.flag()? {
            backward = backward.retain_graph();
        }
        if d.flag()? {
            let _ = backward.run();
        } else {
            let collected = backward.collect(&inputs.iter().collect::<Vec<_>>());
            for gradient in collected.into_iter().flatten() {
                d.look(gradient);
            }
        }
        Some(())
    };
    "tensor::grad" => |d| {
        let (outputs, inputs) = (d.owned_tensors()?, d.owned_tensors()?);
        let (outputs, inputs): (Vec<_>, Vec<_>) = (outputs.iter().collect(), inputs.iter().collect());
        for gradient in tensor::grad(&outputs, &inputs).into_iter().flatten() {
            d.look(gradient);
        }
        Some(())
    };
    "tensor::NoGradGuard::new" => |d| {
        let _guard = NoGradGuard::new();
        let tensor = d.tensor()?;
        d.look(tensor.mul(&tensor).ok());
        Some(())
    };
    "tensor::SeedGuard::restart" => |d| {
        let (first, next, tensor) = (d.word()?, d.word()?, d.tensor()?);
        let scope = tensor::enter_manual_seed(first);
        scope.restart(next);
        d.look(tensor.rand_like().ok());
        Some(())
    };
    // Two handles of one memory, in every position of operations that write.
    "tensor::Tensor::copy_" => |d| {
        let base = d.tensor()?;
        let (one, two) = (d.tensor()?, base.transpose(0, -1).ok()?);
        let _ = base.copy_(&two);
        let _ = base.add_(&two);
        let _ = two.mul_(&one);
        d.look(Some(base));
        Some(())
    };
    // A guard is held while others use the memory.
    "tensor::Tensor::read" => |d| {
        let tensor = d.tensor()?;
        let guard = tensor.read::<f32>();
        let before: Option<Vec<u32>> =
            guard.as_ref().ok().map(|guard| guard.iter().map(|x| x.to_bits()).collect());
        let _ = tensor.add_(1.0);
        let other = d.tensor()?;
        let _ = tensor.copy_(&other);
        if let (Ok(guard), Some(before)) = (&guard, before) {
            let now: Vec<u32> = guard.iter().map(|x| x.to_bits()).collect();
            assert_eq!(now, before, "what a guard shows has changed");
        }
        Some(())
    };
};

/// Calls a method for the elements of one of all types.
macro_rules! each_type {
    ($d:ident, $method:ident) => {{
        let tensor = $d.tensor()?;
        match $d.rng().below(5) {
            0 => drop(std::hint::black_box(tensor.$method::<f32>())),
            1 => drop(std::hint::black_box(tensor.$method::<f64>())),
            2 => drop(std::hint::black_box(tensor.$method::<i64>())),
            3 => drop(std::hint::black_box(tensor.$method::<u8>())),
            _ => drop(std::hint::black_box(tensor.$method::<bool>())),
        }
        Some(())
    }};
}
use each_type;

fn from_vec<T: Element>(d: &mut Draw, element: T) -> Option<()> {
    let (shape, options) = (d.sizes()?, d.options()?);
    let fitting = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    let count = match fitting {
        Some(count) if count < 10_000 && !d.rng().one_in(4) => count,
        _ => d.rng().below(20),
    };
    d.look(Tensor::from_vec(vec![element; count], shape, options).ok());
    Some(())
}
