//! Tensors as operands of kernels of one's own.

use gpu_runtime::{Access, DevicePtr, MemoryUse, Stream, ordered};
use smallvec::SmallVec;

use super::captured::note_write;
use super::cuda::operands;
use crate::resolved_device::ResolvedDevice;
use crate::{Error, Result, Tensor};

/// A CUDA tensor as an operand of a kernel of one's own: the address of its elements, and whether
/// the kernel reads or writes them.
///
/// The address alone orders nothing: [`CudaView::enqueue`] puts the work into order with all other
/// uses of the memory, on any stream, before and after.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use gpu_runtime::LaunchConfig;
/// use tensor::{CudaView, Device, Tensor, cuda};
///
/// let ptx = "
///     .version 7.0
///     .target sm_70
///     .address_size 64
///     .visible .entry double_all(.param .u64 p, .param .u32 n) {
///         .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %d<4>; .reg .f32 %f;
///         ld.param.u64 %d0, [p];
///         ld.param.u32 %r0, [n];
///         mov.u32 %r1, %ctaid.x;
///         mov.u32 %r2, %ntid.x;
///         mov.u32 %r3, %tid.x;
///         mad.lo.u32 %r4, %r1, %r2, %r3;
///         setp.ge.u32 %q, %r4, %r0;
///         @%q ret;
///         cvta.to.global.u64 %d1, %d0;
///         mul.wide.u32 %d2, %r4, 4;
///         add.u64 %d3, %d1, %d2;
///         ld.global.f32 %f, [%d3];
///         add.f32 %f, %f, %f;
///         st.global.f32 [%d3], %f;
///         ret;
///     }";
/// let device = Device::cuda();
/// let x = Tensor::ones([100], device)?;
/// let stream = cuda::current_stream(device)?;
/// let kernel = gpu_runtime::Stream::device(&stream).load(ptx)?.function("double_all")?;
/// let view = x.cuda_write()?;
/// CudaView::enqueue(&stream, &[view], || {
///     // SAFETY: the kernel takes (pointer, count), and reads and writes that many floats.
///     unsafe { kernel.launch(&stream, LaunchConfig::for_elements(100), (view.ptr(), 100u32)) }
/// })?;
/// assert_eq!(x.sum(())?.item::<f32>()?, 200.0);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CudaView<'a> {
    tensor: &'a Tensor,
    access: Access,
}

impl<'a> CudaView<'a> {
    fn new(op: &'static str, tensor: &'a Tensor, access: Access) -> Result<CudaView<'a>> {
        match tensor.resolved_device() {
            ResolvedDevice::Cuda(_) => Ok(CudaView { tensor, access }),
            ResolvedDevice::Cpu => Err(Error::InvalidArgument {
                op,
                argument: "self",
                value: "a tensor on the CPU".to_owned(),
                why: "only tensors on a CUDA device have memory that kernels can use; use `to`",
            }),
        }
    }

    /// The address of the first element. The others lie at the tensor's
    /// [`strides`](Tensor::strides), counted in elements.
    pub fn ptr(&self) -> DevicePtr {
        let first = self.tensor.offset() * self.tensor.dtype().size();
        DevicePtr::from_address(self.tensor.storage().address()).offset(first)
    }

    /// Enqueues work on `stream` that uses these tensors, in order with all other uses of their
    /// memory, and gives what `enqueue` gives. `enqueue` enqueues on this stream and nowhere else,
    /// and does not wait. Memory that is written counts as changed in place: a tensor that a graph
    /// has saved is known to be stale.
    ///
    /// The write is not recorded for gradients; an
    /// [`AutogradFunction`](crate::AutogradFunction) around it is.
    ///
    /// # Errors
    /// A written tensor repeats elements (after `expand`), or was made in inference mode and that
    /// is off; those of [`gpu_runtime::ordered`] and of `enqueue`.
    #[track_caller]
    pub fn enqueue<R>(
        stream: &Stream,
        views: &[CudaView<'_>],
        enqueue: impl FnOnce() -> gpu_runtime::Result<R>,
    ) -> Result<R> {
        let written = || views.iter().filter(|view| view.access == Access::Write);
        for view in written() {
            view.tensor.check_inference("CudaView::enqueue")?;
            if view.tensor.layout().overlaps_itself() {
                let shape = view.tensor.layout().shape();
                return Err(Error::InvalidArgument {
                    op: "CudaView::enqueue",
                    argument: "views",
                    value: format!("a tensor of shape {shape} that repeats elements"),
                    why: "several elements at one place cannot be written; use clone_data",
                });
            }
        }
        let uses: SmallVec<[MemoryUse<'_>; 6]> =
            views.iter().flat_map(|view| operands(view.tensor, view.access)).collect();
        let result = ordered(stream, &uses, enqueue)?;
        for view in written() {
            note_write(stream, view.tensor)?;
            view.tensor.storage().bump_version();
        }
        Ok(result)
    }
}

/// Copies on a stream of one's own.
impl CudaView<'_> {
    /// Enqueues a copy of the elements of `source`, which is read, to `target`, which is written, on
    /// `stream`, of either tensor's device. Unlike [`Tensor::copy_`] between two devices, it is work of
    /// that stream alone: under [`Order::Manual`](crate::cuda::Order) it waits for nothing but what
    /// the stream was told to wait for. It returns at once.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use tensor::{CudaView, Device, Tensor, cuda};
    ///
    /// let x = Tensor::ones([100], Device::cuda_at(0))?;
    /// let y = Tensor::zeros([100], Device::cuda_at(1))?;
    /// let copies = cuda::Stream::new(Device::cuda_at(0))?;
    /// CudaView::enqueue_copy(&copies, y.cuda_write()?, x.cuda_read()?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0; 100]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensors differ in dtype or number of elements, or one is not contiguous; the stream is of a
    /// third device; as [`CudaView::enqueue`].
    #[track_caller]
    pub fn enqueue_copy(stream: &Stream, target: CudaView<'_>, source: CudaView<'_>) -> Result<()> {
        const OP: &str = "CudaView::enqueue_copy";
        let (to, from) = (target.tensor, source.tensor);
        if to.dtype() != from.dtype() {
            let arguments = vec![("target", to.dtype()), ("source", from.dtype())];
            return Err(Error::DTypeMismatch { op: OP, arguments, rule: "they must be the same" });
        }
        if to.numel() != from.numel() {
            let (numel, shape) = (from.numel(), to.layout().shape().clone());
            return Err(Error::WrongNumel { op: OP, numel, shape });
        }
        if let Some(strided) = [to, from].into_iter().find(|tensor| !tensor.is_contiguous()) {
            return Err(strided.not_contiguous(OP));
        }
        let (Some(to_device), Some(from_device)) = (target.device(), source.device()) else {
            unreachable!("a view is of a CUDA tensor")
        };
        if ![to_device, from_device].contains(&stream.device()) {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "stream",
                value: format!("a stream of {}", stream.device()),
                why: "it must be one of a device that has one of the tensors",
            });
        }
        let bytes = from.numel() * from.dtype().size();
        let (dst, src) = (target.ptr(), source.ptr());
        let views = [CudaView { access: Access::Write, ..target }, source];
        CudaView::enqueue(stream, &views, || match to_device == from_device {
            // SAFETY: both ends have so many bytes there, since they are contiguous; their records,
            // which are marked here, keep them until the copy is done.
            true => unsafe { stream.enqueue_dtod(dst, src, bytes) },
            // SAFETY: as above, and each end is memory of the device that its tensor is on.
            false => unsafe { stream.enqueue_peer(dst, to_device, src, from_device, bytes) },
        })
    }

    /// The runtime's device.
    fn device(&self) -> Option<gpu_runtime::Device> {
        match self.tensor.resolved_device() {
            ResolvedDevice::Cuda(device) => Some(device),
            ResolvedDevice::Cpu => None,
        }
    }
}

/// Operands of kernels of one's own.
impl Tensor {
    /// The tensor as an operand that a kernel reads.
    ///
    /// # Errors
    /// It lies on the CPU.
    pub fn cuda_read(&self) -> Result<CudaView<'_>> {
        CudaView::new("cuda_read", self, Access::Read)
    }

    /// The tensor as an operand that a kernel writes, and may read.
    ///
    /// # Errors
    /// It lies on the CPU.
    pub fn cuda_write(&self) -> Result<CudaView<'_>> {
        CudaView::new("cuda_write", self, Access::Write)
    }
}
