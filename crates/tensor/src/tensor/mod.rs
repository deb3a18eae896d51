//! The tensor: a handle on a layout of a storage, with its properties.

mod extent;
mod history;

pub(crate) use history::{
    BackwardFunction, Edge, EdgeId, EndId, Form, Gradients, GradientsOf, GraphRetention, Hook,
    InputEdges, Leaf, Meta, Node, NodeBackward, NodeOutput, NodeParts, OutputForms, SavedStorage,
    ViewCreation, ViewOf,
};

use crate::dims::resolve_dim;
use crate::layout::{Layout, NoLayout};
use crate::resolved_device::ResolvedDevice;
use crate::shared::{Counted, WeakCounted};
use crate::storage::{Fresh, HostMemory, Storage};
use crate::{DType, Device, Error, Result, Shape, inference};
use extent::{bytes_of, dense, expect_inside};

/// An array of numbers of one dtype on one device.
///
/// A tensor is a handle: cloning it is cheap, and the clones share memory, as views of it do.
/// Handles may be sent to and used from any thread. Operations give new tensors; those whose names
/// end in `_` change the memory that all its handles and views see.
///
/// On a CUDA device an operation enqueues its work on the device's current stream and returns.
/// Work of different streams on the same memory is put into the order of the calls.
///
/// ```
/// use tensor::{Tensor, tensor};
/// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
/// let y = (&x * 2.0)?.matmul(&x.t()?)?;
/// assert_eq!(y.to_vec::<f32>()?, [10.0, 22.0, 22.0, 50.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    inner: Counted<TensorImpl>,
}

/// The identity of a tensor among all that live ([`Tensor::id`]). Once a tensor is dropped, another
/// may get its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId(usize);

/// The parts of a tensor, which its handles share.
struct TensorImpl {
    memory: TensorMemory,
    layout: Layout,
    dtype: DType,
    autograd: Meta,
}

/// The memory of a tensor.
enum TensorMemory {
    Own(Storage),
    /// The memory of the tensor that it is a view of.
    OfBase(ViewOf),
}

impl Tensor {
    /// The sizes, outermost first.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.inner.layout.shape()
    }

    /// The number of dimensions; 0 for a single number.
    pub fn dims(&self) -> usize {
        self.shape().len()
    }

    /// The sizes as an array, to be taken apart.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4], ())?;
    /// let [batch, time, width] = x.sizes()?;
    /// assert_eq!((batch, time, width), (2, 3, 4));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are not as many dimensions as the array has places.
    pub fn sizes<const N: usize>(&self) -> Result<[usize; N]> {
        self.shape().try_into().map_err(|_| Error::WrongDims {
            op: "sizes",
            shape: self.inner.layout.shape().clone(),
            expected: N,
        })
    }

    /// The size along `dim`; negative ones count from the end.
    ///
    /// # Errors
    /// There is no such dimension.
    pub fn size(&self, dim: isize) -> Result<usize> {
        let resolved = resolve_dim("size", dim, self.dims())?;
        self.shape().get(resolved).copied().ok_or(Error::DimOutOfRange { op: "size", dim, dims: 0 })
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.inner.layout.numel()
    }

    /// The distance between neighbours along each dimension, in elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!((x.strides(), x.t()?.strides()), (&[3, 1][..], &[1, 3][..]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn strides(&self) -> &[isize] {
        self.inner.layout.strides()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.inner.dtype
    }

    /// The device that the tensor lies on; on CUDA always with its index.
    pub fn device(&self) -> Device {
        self.resolved_device().to_device()
    }

    /// The index of the CUDA device that the tensor lies on; -1 on the CPU.
    pub fn get_device(&self) -> i64 {
        match self.resolved_device() {
            ResolvedDevice::Cpu => -1,
            ResolvedDevice::Cuda(device) => device.index() as i64,
        }
    }

    /// Whether the elements lie side by side in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.inner.layout.is_contiguous()
    }

    /// Whether the tensor lies in page-locked host memory, which copies from and to devices can use
    /// asynchronously.
    pub fn is_pinned(&self) -> bool {
        self.storage().is_pinned()
    }

    /// Whether the tensor lies on a CUDA device.
    pub fn is_cuda(&self) -> bool {
        matches!(self.resolved_device(), ResolvedDevice::Cuda(_))
    }

    /// Whether the two tensors have the same storage.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert!(x.t()?.shares_memory_with(&x));
    /// assert!(!x.clone_data()?.shares_memory_with(&x));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        self.storage().ptr_eq(other.storage())
    }

    /// The storage: the memory that the tensor shares with its views.
    pub fn storage(&self) -> &Storage {
        match &self.inner.memory {
            TensorMemory::Own(storage) => storage,
            TensorMemory::OfBase(view) => view.base.storage(),
        }
    }

    /// A new tensor whose elements an operation is about to write, all of them.
    ///
    /// # Errors
    /// The shape is too large, or memory is short.
    #[track_caller]
    pub(crate) fn uninit(shape: Shape, dtype: DType, device: ResolvedDevice) -> Result<Tensor> {
        let (layout, bytes) = dense(shape, dtype)?;
        let storage = Storage::allocate(device, bytes, Fresh::Overwritten)?;
        Ok(Tensor::of_storage(storage, layout, dtype))
    }

    /// [`Tensor::uninit`] in a layout that is dense, at the start of its storage.
    ///
    /// # Errors
    /// As [`Tensor::uninit`].
    #[track_caller]
    pub(crate) fn uninit_in(
        layout: Layout,
        dtype: DType,
        device: ResolvedDevice,
    ) -> Result<Tensor> {
        debug_assert!(layout.is_dense() && layout.offset() == 0, "a layout of a result");
        let storage = Storage::allocate(device, bytes_of(&layout, dtype)?, Fresh::Overwritten)?;
        Ok(Tensor::of_storage(storage, layout, dtype))
    }

    /// A dense tensor of the shape and on the device of another dense one, whose elements an
    /// operation is about to write, all of them.
    ///
    /// # Errors
    /// It is too large, or memory is short.
    #[track_caller]
    pub(crate) fn uninit_like(like: &Tensor, dtype: DType) -> Result<Tensor> {
        let bytes = bytes_of(like.layout(), dtype)?;
        let storage = Storage::allocate(like.resolved_device(), bytes, Fresh::Overwritten)?;
        let mut tensor = Tensor::of_parts(|| TensorImpl {
            layout: like.layout().clone(),
            dtype,
            autograd: Meta::none(),
            memory: TensorMemory::Own(storage),
        });
        tensor.change_layout(Layout::move_to_start);
        Ok(tensor)
    }

    /// A new CPU tensor with such contents.
    ///
    /// # Errors
    /// As [`Tensor::uninit`].
    #[track_caller]
    pub(crate) fn fresh(shape: Shape, dtype: DType, fresh: Fresh) -> Result<Tensor> {
        let (layout, bytes) = dense(shape, dtype)?;
        let storage = Storage::allocate(ResolvedDevice::Cpu, bytes, fresh)?;
        Ok(Tensor::of_storage(storage, layout, dtype))
    }

    /// A new CPU tensor in page-locked memory.
    ///
    /// # Errors
    /// The shape is too large, the limit of pinned memory is reached, or there is no driver.
    #[track_caller]
    pub(crate) fn pinned(shape: Shape, dtype: DType, fresh: Fresh) -> Result<Tensor> {
        let (layout, bytes) = dense(shape, dtype)?;
        let storage = Storage::allocate_pinned(bytes, fresh)?;
        Ok(Tensor::of_storage(storage, layout, dtype))
    }

    fn of_storage(storage: Storage, layout: Layout, dtype: DType) -> Tensor {
        Tensor::from_parts(storage, layout, dtype, Meta::none())
    }

    /// A tensor of its parts, of which the layout must lie inside the storage.
    pub(crate) fn from_parts(
        storage: Storage,
        layout: Layout,
        dtype: DType,
        autograd: Meta,
    ) -> Tensor {
        let memory = TensorMemory::Own(storage);
        Tensor::of_parts(|| TensorImpl { memory, layout, dtype, autograd })
    }

    /// A tensor of the parts that `make` gives, which are put together where they stay: what `make`
    /// makes itself is not copied, if nothing is called between making it and the end.
    #[inline]
    fn of_parts(make: impl FnOnce() -> TensorImpl) -> Tensor {
        Tensor { inner: Counted::new_with(make) }
    }

    /// A tensor with another layout of the same memory, without history.
    ///
    /// # Errors
    /// There is no such layout, or it does not lie inside the storage.
    #[inline]
    pub(crate) fn alias(&self, layout: Result<Layout, NoLayout>) -> Result<Tensor> {
        Tensor::view_of(self.storage(), layout, self.dtype())
    }

    /// A tensor with a layout of a storage, without history.
    ///
    /// # Errors
    /// There is no such layout, or it does not lie inside the storage.
    #[inline]
    pub(crate) fn view_of(
        storage: &Storage,
        layout: Result<Layout, NoLayout>,
        dtype: DType,
    ) -> Result<Tensor> {
        let layout = layout.map_err(|problem| problem.of(dtype))?;
        expect_inside(&layout, storage, dtype)?;
        Ok(Tensor::from_parts(storage.clone(), layout, dtype, Meta::none()))
    }

    /// A tensor of the same memory without history: changes of either are seen by both, and
    /// gradients do not flow through.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0]?.requires_grad_(true)?;
    /// let y = x.mul(2.0)?.detach();
    /// assert!(!y.requires_grad());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn detach(&self) -> Tensor {
        let (storage, layout) = (self.storage().clone(), self.layout().clone());
        Tensor::from_parts(storage, layout, self.dtype(), Meta::none())
    }

    /// The tensor with other autograd metadata. A new tensor, which nobody else has, is changed in
    /// place.
    pub(crate) fn with_autograd(mut self, autograd: Meta) -> Tensor {
        if let Some(inner) = Counted::get_mut(&mut self.inner)
            && matches!(inner.memory, TensorMemory::Own(_))
        {
            inner.autograd = autograd;
            return self;
        }
        let (storage, layout) = (self.storage().clone(), self.layout().clone());
        Tensor::from_parts(storage, layout, self.dtype(), autograd)
    }

    /// The tensor as the output of a recorded operation. A new tensor, which nobody else has, is
    /// changed in place, and stays the view that it is.
    #[inline]
    pub(crate) fn with_history(mut self, output: NodeOutput) -> Tensor {
        match Counted::get_mut(&mut self.inner) {
            Some(inner) => {
                inner.autograd.set_history(output);
                self
            }
            None => self.with_autograd(Meta::of_edge(Edge::Node(output))),
        }
    }

    /// A tensor with another layout of the same memory which gradients flow through: operations in
    /// place on either are recorded for both. It has no history yet.
    ///
    /// # Errors
    /// As [`Tensor::alias`].
    #[inline]
    pub(crate) fn differentiable_view(
        &self,
        layout: Result<Layout, NoLayout>,
        creation: ViewCreation,
    ) -> Result<Tensor> {
        let dtype = self.dtype();
        let layout = layout.map_err(|problem| problem.of(dtype))?;
        let base = self.view_of_base().map_or(self, |view| &view.base);
        let storage = base.storage();
        expect_inside(&layout, storage, dtype)?;
        let view = ViewOf { version: storage.version(), base: base.clone(), creation };
        let memory = TensorMemory::OfBase(view);
        Ok(Tensor::of_parts(|| TensorImpl { memory, layout, dtype, autograd: Meta::none() }))
    }

    /// [`Tensor::differentiable_view`] of some or all of the elements, which lie inside the storage
    /// whatever their order. The copy of the layout is changed where it lies: one that is made and
    /// checked first is copied again at each step, which costs more than all the rest of a view.
    #[inline]
    pub(crate) fn differentiable_part(
        &self,
        creation: ViewCreation,
        change: impl FnOnce(&mut Layout),
    ) -> Tensor {
        let base = self.view_of_base().map_or(self, |view| &view.base);
        let version = base.storage().version();
        let mut part = Tensor::of_parts(|| TensorImpl {
            memory: TensorMemory::OfBase(ViewOf { version, base: base.clone(), creation }),
            layout: self.layout().clone(),
            dtype: self.dtype(),
            autograd: Meta::none(),
        });
        part.change_layout(change);
        part
    }

    /// Changes the layout of a new tensor, which has one handle.
    #[inline]
    fn change_layout(&mut self, change: impl FnOnce(&mut Layout)) {
        if let Some(inner) = Counted::get_mut(&mut self.inner) {
            change(&mut inner.layout);
        }
    }

    /// The tensor that this is a view of for autograd, if it is one.
    #[inline]
    pub(crate) fn view_of_base(&self) -> Option<&ViewOf> {
        match &self.inner.memory {
            TensorMemory::Own(_) => None,
            TensorMemory::OfBase(view) => Some(view),
        }
    }

    /// The identity of the tensor (Python's `id`): handles that are clones of each other have the
    /// same, and views and [`Tensor::detach`] have others.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?;
    /// assert_eq!(x.id(), x.clone().id());
    /// assert_ne!(x.id(), x.detach().id());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn id(&self) -> TensorId {
        TensorId(Counted::id(&self.inner))
    }

    /// Whether the two are handles on the same tensor, not only on the same memory.
    pub(crate) fn is_same_handle(&self, other: &Tensor) -> bool {
        Counted::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether nobody has another handle on the same tensor.
    pub(crate) fn is_only_handle(&self) -> bool {
        Counted::handles(&self.inner) == 1
    }

    /// A handle that does not keep the tensor alive.
    pub(crate) fn downgrade(&self) -> WeakTensor {
        WeakTensor(Counted::downgrade(&self.inner))
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn autograd(&self) -> &Meta {
        &self.inner.autograd
    }

    /// The device that the tensor lies on.
    pub(crate) fn resolved_device(&self) -> ResolvedDevice {
        self.storage().resolved_device()
    }

    pub(crate) fn offset(&self) -> usize {
        self.layout().offset()
    }

    /// Whether this is the only handle, which nobody can get another one of, and the storage has no
    /// other tensor but perhaps the one that this is a view of, which nobody else has either.
    pub(crate) fn is_sole_owner(&self) -> bool {
        let is_sole = |tensor: &Tensor| Counted::is_sole(&tensor.inner);
        is_sole(self)
            && self.view_of_base().is_none_or(|view| is_sole(&view.base))
            && self.storage().is_sole()
    }

    /// Makes the tensor as good as new, if its owner has the only handle on it and on its memory on
    /// the host, which nobody uses, and which the program could not tell from new memory: its
    /// elements may be written without a lock then, and its history is gone.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(inner) = Counted::get_mut(&mut self.inner) else { return false };
        let TensorMemory::Own(storage) = &inner.memory else { return false };
        let is_as_new = storage.is_sole()
            && storage.is_inference() == inference::is_enabled()
            && storage.host().is_some_and(HostMemory::is_idle);
        if is_as_new {
            inner.autograd = Meta::none();
        }
        is_as_new
    }

    /// # Errors
    /// The tensor is of another dtype.
    pub(crate) fn expect_dtype(&self, op: &'static str, dtype: DType) -> Result<()> {
        if self.dtype() == dtype {
            return Ok(());
        }
        let arguments = vec![("self", self.dtype()), ("asked for", dtype)];
        Err(Error::DTypeMismatch { op, arguments, rule: "they must be equal" })
    }

    /// # Errors
    /// The tensor is of integers or truth values.
    pub(crate) fn expect_floats(&self, op: &'static str) -> Result<()> {
        match self.dtype().is_float() {
            true => Ok(()),
            false => {
                Err(Error::UnsupportedDType { op, dtype: self.dtype(), device: self.device() })
            }
        }
    }

    pub(crate) fn not_contiguous(&self, op: &'static str) -> Error {
        let shape = self.layout().shape().clone();
        Error::NotContiguous { op, shape, strides: self.strides().to_vec() }
    }
}

/// A handle on a tensor that does not keep it alive.
pub(crate) struct WeakTensor(WeakCounted<TensorImpl>);

impl WeakTensor {
    /// The tensor, if it still has a handle.
    pub(crate) fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade().map(|inner| Tensor { inner })
    }

    /// Whether the tensor still has a handle.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}

#[cfg(test)]
mod tests;
