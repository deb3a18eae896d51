//! Calls of attention, and of its gradients.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::Attention;
use super::attention_plan::{AttentionPass, AttentionPlan, TensorCoreAttention, TensorCoreKernels};
use super::cuda::{self, KernelTable};
use super::{HostKernels, Operands, Operator};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor};

/// The kernels of attention.
pub(crate) struct AttentionKernels {
    forward: Operator<Attention>,
    /// All gradients on the CPU; on CUDA that of the queries, and what the others need.
    backward: Operator<Attention>,
    /// On CUDA the gradients of keys and values.
    of_keys: KernelTable,
    /// On CUDA, where halves run on tensor cores.
    tensor_cores: [TensorCoreKernels; 3],
}

impl AttentionKernels {
    pub(crate) const fn new([forward, backward]: [HostKernels<Attention>; 2]) -> AttentionKernels {
        AttentionKernels {
            forward: Operator::new("attention", forward),
            backward: Operator::new("attention_backward_queries", backward),
            of_keys: KernelTable::new(),
            tensor_cores: [
                TensorCoreKernels::new(["attention_halves_64", "attention_halves_128"]),
                TensorCoreKernels::new([
                    "attention_halves_backward_queries_64",
                    "attention_halves_backward_queries_128",
                ]),
                TensorCoreKernels::new([
                    "attention_halves_backward_keys_64",
                    "attention_halves_backward_keys_128",
                ]),
            ],
        }
    }

    /// Runs a pass. All gradients are one pass on the CPU, and that of keys and values of CUDA alone.
    ///
    /// # Safety
    /// The call describes the operands for `dtype`, and all that it leads to is among them.
    #[track_caller]
    unsafe fn run(
        &'static self,
        (plan, pass): (AttentionPlan, AttentionPass),
        dtype: DType,
        operands: &Operands<'_>,
        call: &Attention,
    ) -> Result<()> {
        let device = operands.device;
        if let (ResolvedDevice::Cuda(device), AttentionPlan::TensorCores(width)) = (device, plan) {
            let (name, table) = self.tensor_cores[pass as usize].of(width);
            let call = TensorCoreAttention(*call);
            // SAFETY: the call describes the operands (a condition of this function).
            return unsafe { cuda::launch(name, table, dtype, device, operands.tensors, &call) };
        }
        // SAFETY: the call describes the operands for `dtype` (a condition of this function).
        unsafe {
            match (pass, device) {
                (AttentionPass::Forward, _) => self.forward.run(dtype, operands, call),
                (AttentionPass::Queries, _) => self.backward.run(dtype, operands, call),
                (AttentionPass::Keys, ResolvedDevice::Cpu) => Ok(()),
                (AttentionPass::Keys, ResolvedDevice::Cuda(device)) => {
                    let name = "attention_backward_keys";
                    cuda::launch(name, &self.of_keys, dtype, device, operands.tensors, call)
                }
            }
        }
    }
}

/// A draw of random numbers: seed, offset, and on CUDA the state of a graph's draws.
#[derive(Clone, Copy)]
pub(crate) struct DropoutDraw<'a> {
    pub(crate) seed: u64,
    pub(crate) offset: u64,
    pub(crate) state: Option<&'a Tensor>,
    /// The probability to stay.
    pub(crate) keep: f64,
}

/// An attention. Its tensors are of one dtype and device and have four dimensions: batch, head,
/// position and element. The elements of a row are neighbours.
#[derive(Clone, Copy)]
pub(crate) struct AttentionProblem<'a> {
    pub(crate) q: &'a Tensor,
    pub(crate) k: &'a Tensor,
    pub(crate) v: &'a Tensor,
    /// `[batch, heads, queries, keys]`: truth values, or numbers of the dtype that the others are
    /// computed in.
    pub(crate) mask: Option<&'a Tensor>,
    pub(crate) dropout: Option<DropoutDraw<'a>>,
    pub(crate) scale: f64,
    pub(crate) is_causal: bool,
}

/// The results, which the gradients are computed from beside the operands.
#[derive(Clone, Copy)]
pub(crate) struct AttentionOutcome<'a> {
    /// The result and its gradient, which have the same four dimensions.
    pub(crate) out: &'a Tensor,
    pub(crate) grad: &'a Tensor,
    pub(crate) log_sum: &'a Tensor,
}

/// The results, and the logarithms of the sums of each query's exponentials. The results lie as
/// `[batch, position, head, element]`.
///
/// # Errors
/// There are no kernels for the dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn attention(
    kernels: &'static AttentionKernels,
    problem: &AttentionProblem<'_>,
) -> Result<[Tensor; 2]> {
    let AttentionProblem { q, v, .. } = *problem;
    let (dtype, device) = (q.dtype(), q.resolved_device());
    kernels.forward.check_dtype(dtype, device)?;
    let &[batch, heads, queries, _] = q.shape() else { unreachable!("it has four dimensions") };
    let out = Tensor::uninit(Shape::from([batch, queries, heads, v.shape()[3]]), dtype, device)?;
    let log_sum = Tensor::uninit(Shape::from([batch, heads, queries]), computed(dtype), device)?;
    if out.numel() > 0 {
        let mut tensors: AttentionTensorList<'_> = SmallVec::new();
        tensors.extend([(&out, Access::Write), (&log_sum, Access::Write)]);
        problem.add_operands(&mut tensors);
        let operands = Operands::hold_for_outputs(OP, device, &tensors, 2)?;
        let plan = AttentionPlan::new(problem)?;
        let call = Attention {
            out: operands.address(0),
            log_sum: operands.address(1),
            jobs: plan.jobs(AttentionPass::Forward, dtype, [batch * heads, queries, v.shape()[3]]),
            ..problem.call(&operands, 2)
        };
        // SAFETY: the operands are of the problem's sizes, and the results of theirs.
        unsafe { kernels.run((plan, AttentionPass::Forward), dtype, &operands, &call)? };
    }
    Ok([by_head(&out)?, log_sum])
}

/// The gradients of queries, keys and values that are needed.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
pub(crate) fn attention_backward(
    kernels: &'static AttentionKernels,
    problem: &AttentionProblem<'_>,
    outcome: AttentionOutcome<'_>,
    needs: [bool; 3],
) -> Result<[Option<Tensor>; 3]> {
    let AttentionProblem { q, k, v, .. } = *problem;
    let (dtype, device) = (q.dtype(), q.resolved_device());
    let mut gradients = [const { None }; 3];
    for (slot, (like, _)) in
        gradients.iter_mut().zip([q, k, v].into_iter().zip(needs)).filter(|(_, (_, needs))| *needs)
    {
        let &[batch, heads, rows, columns] = like.shape() else {
            unreachable!("it has four dimensions")
        };
        *slot = Some(Tensor::uninit(Shape::from([batch, rows, heads, columns]), dtype, device)?);
    }
    let delta = match device {
        ResolvedDevice::Cpu => None,
        ResolvedDevice::Cuda(_) => Some(Tensor::uninit_like(outcome.log_sum, computed(dtype))?),
    };
    let outputs = gradients.iter().flatten().chain(&delta);
    let mut tensors: AttentionTensorList<'_> =
        outputs.map(|tensor| (tensor, Access::Write)).collect();
    let written = tensors.len();
    let AttentionOutcome { out, grad, log_sum } = outcome;
    let lies_as_results = out.layout().transpose(1, 2).is_contiguous();
    assert!(lies_as_results, "{OP}: the result lies by position");
    tensors.extend([out, grad, log_sum].map(|tensor| (tensor, Access::Read)));
    problem.add_operands(&mut tensors);
    let operands = Operands::hold_for_outputs(OP, device, &tensors, written)?;
    let mut places = 0..written;
    let mut place = |is_there: bool| {
        let place = is_there.then(|| places.next()).flatten();
        place.map_or(0, |place| operands.address(place))
    };
    let [dq, dk, dv] = gradients.each_ref().map(|gradient| place(gradient.is_some()));
    let &[batch, heads, queries, depth] = q.shape() else { unreachable!("it has four dimensions") };
    let plan = AttentionPlan::new(problem)?;
    let call = Attention {
        dq,
        dk,
        dv,
        delta: place(delta.is_some()),
        out: operands.address(written),
        grad: operands.address(written + 1),
        grad_strides: strides(grad),
        log_sum: operands.address(written + 2),
        jobs: plan.jobs(AttentionPass::Queries, dtype, [batch * heads, queries, depth]),
        ..problem.call(&operands, written + 3)
    };
    // SAFETY: the operands are of the problem's sizes, and the gradients of those of what they are the
    // gradients of.
    unsafe { kernels.run((plan, AttentionPass::Queries), dtype, &operands, &call)? };
    if needs[1] || needs[2] {
        let rows = [batch * k.shape()[1], k.shape()[2], depth.max(v.shape()[3])];
        let call = Attention { jobs: plan.jobs(AttentionPass::Keys, dtype, rows), ..call };
        // SAFETY: as above; the launch before writes what this one reads.
        unsafe { kernels.run((plan, AttentionPass::Keys), dtype, &operands, &call)? };
    }
    drop(operands);
    drop(tensors);
    let [q, k, v] = gradients.map(|gradient| gradient.as_ref().map(by_head).transpose());
    Ok([q?, k?, v?])
}

const OP: &str = "scaled_dot_product_attention";

/// Gradients, what they are computed from, and the operands.
type AttentionTensorList<'a> = SmallVec<[(&'a Tensor, Access); 12]>;

impl AttentionProblem<'_> {
    fn add_operands<'a>(&'a self, tensors: &mut AttentionTensorList<'a>) {
        let state = self.dropout.and_then(|dropout| dropout.state);
        let all = [Some(self.q), Some(self.k), Some(self.v), self.mask, state];
        tensors.extend(all.into_iter().flatten().map(|tensor| (tensor, Access::Read)));
    }

    /// The operands, of which the first has the given position, and what they are computed with.
    fn call(&self, operands: &Operands<'_>, first: usize) -> Attention {
        let &[batch, heads, queries, depth] = self.q.shape() else {
            unreachable!("it has four dimensions")
        };
        let mut places = first + 3..;
        let mut place = |is_there: bool| {
            let place = is_there.then(|| places.next()).flatten();
            place.map_or(0, |place| operands.address(place))
        };
        let mask = place(self.mask.is_some());
        let state = place(self.dropout.is_some_and(|dropout| dropout.state.is_some()));
        Attention {
            out: 0,
            log_sum: 0,
            delta: 0,
            dq: 0,
            dk: 0,
            dv: 0,
            q: operands.address(first),
            k: operands.address(first + 1),
            v: operands.address(first + 2),
            grad: 0,
            mask,
            state,
            seed: self.dropout.map_or(0, |dropout| dropout.seed),
            offset: self.dropout.map_or(0, |dropout| dropout.offset),
            batch: batch as i64,
            heads: heads as i64,
            kv_heads: self.k.shape()[1] as i64,
            queries: queries as i64,
            keys: self.k.shape()[2] as i64,
            depth: depth as i64,
            columns: self.v.shape()[3] as i64,
            jobs: 0,
            q_strides: strides(self.q),
            k_strides: strides(self.k),
            v_strides: strides(self.v),
            grad_strides: [0; 3],
            mask_strides: self.mask.map_or([0; 4], strides),
            scale: self.scale,
            keep: self.dropout.map_or(1.0, |dropout| dropout.keep),
            causal: i32::from(self.is_causal),
            mask_kind: match self.mask.map(Tensor::dtype) {
                None => 0,
                Some(DType::Bool) => 1,
                Some(_) => 2,
            },
        }
    }
}

/// The dtype that attention of a dtype is computed in, where there is a kernel for it.
fn computed(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// The first strides of a tensor.
fn strides<const N: usize>(tensor: &Tensor) -> [i64; N] {
    std::array::from_fn(|dim| tensor.strides()[dim] as i64)
}

/// `[batch, position, head, element]` as `[batch, head, position, element]`.
fn by_head(tensor: &Tensor) -> Result<Tensor> {
    tensor.alias(Ok(tensor.layout().transpose(1, 2)))
}
