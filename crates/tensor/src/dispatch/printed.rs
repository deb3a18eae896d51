//! Kernels that are printed from expressions: one for each device and class of layouts, loaded with
//! the driver at its first launch.

use expression::Expression;
use expression::ptx::{
    Broadcast2dArguments, DenseArguments, KernelSpec, LayoutClass, MAX_DIMS, MAX_OPERANDS,
    MAX_SCALARS, PrintError, StridedArguments, print,
};
use gpu_runtime::{Device, Function, LaunchConfig};
use smallvec::SmallVec;

use super::cuda::{BLOCKS_PER_MULTIPROCESSOR, enqueue};
use super::iteration_space::{IterationSpace, Rows};
use super::operands::Operands;
use crate::specializations::Specializations;
use crate::{DType, Error, Result};

/// The number of threads per block.
const THREADS: u64 = 256;

/// The most times that the blocks of a launch fill the device. With one block after the other on each
/// multiprocessor, one that is late makes others wait less.
const WAVES: u64 = 8;

/// An expression with the dtypes of its operands in memory.
#[derive(Clone, Copy)]
pub(super) struct Printable<'a> {
    pub(super) op: &'static str,
    pub(super) expression: &'a Expression,
    pub(super) inputs: &'a [DType],
    pub(super) outputs: &'a [DType],
}

/// The kernels of one function that were printed and loaded so far.
pub(super) struct PrintedKernels(Specializations<PrintedFunction>);

/// A printed kernel that was loaded on a device.
struct PrintedFunction {
    function: Function,
    elements_per_thread: u64,
    /// The most blocks of a launch.
    blocks: u64,
}

impl PrintedKernels {
    pub(super) const fn new() -> PrintedKernels {
        PrintedKernels(Specializations::new())
    }

    /// Enqueues a call on the device's current stream: one launch, or several where a kernel cannot
    /// take as many dimensions.
    ///
    /// # Errors
    /// The driver refused the kernel or the launch.
    ///
    /// # Safety
    /// The operands are tensors of the function's dtypes, outputs first; the space's strides are
    /// those of their layouts, which lie inside their storages; there are as many scalars as the
    /// expression has.
    #[track_caller]
    pub(super) unsafe fn run(
        &self,
        printable: Printable<'_>,
        device: Device,
        operands: &Operands<'_>,
        space: &IterationSpace,
        scalars: &[u64],
    ) -> Result<()> {
        let call = PrintedCall { kernels: self, printable, device, operands, scalars };
        let count = operands.tensors.len();
        // SAFETY: the operands, their strides and the scalars are as this function asks for.
        unsafe {
            if space.is_dense(count) {
                call.dense(space.numel())
            } else if let Some(rows) = space.rows(count) {
                call.rows(&rows)
            } else {
                call.strided(space)
            }
        }
    }

    /// The kernel for a class of layouts on a device.
    fn kernel(
        &self,
        printable: Printable<'_>,
        device: Device,
        class: LayoutClass,
    ) -> Result<&PrintedFunction> {
        let code = match class {
            LayoutClass::Dense => 0,
            LayoutClass::Broadcast2d { repeated } => 1 << 32 | u64::from(repeated.bits()),
            LayoutClass::Strided { dims, wide } => (dims as u64) << 1 | u64::from(wide),
        };
        self.0.try_get((device.index() as u64) << 33 | code, || {
            PrintedFunction::load(printable, device, class)
        })
    }
}

/// A call of a function with its operands, outputs first.
struct PrintedCall<'a, 'o> {
    kernels: &'a PrintedKernels,
    printable: Printable<'a>,
    device: Device,
    operands: &'a Operands<'o>,
    scalars: &'a [u64],
}

impl PrintedCall<'_, '_> {
    /// All operands lie densely in the same linear order.
    ///
    /// # Safety
    /// The conditions of [`PrintedKernels::run`].
    #[track_caller]
    unsafe fn dense(&self, numel: u64) -> Result<()> {
        let kernel = self.kernels.kernel(self.printable, self.device, LayoutClass::Dense)?;
        let addresses = self.addresses(|_| 0);
        let arguments = DenseArguments { numel, addresses, scalars: self.padded_scalars() };
        // SAFETY: the kernel was printed for these dtypes and this class of layouts, and takes this
        // struct; the addresses and the number of elements are the operands'.
        unsafe { self.enqueue(kernel, kernel.grid(numel), &arguments) }
    }

    /// Operands that are dense, or the same element, along rows.
    ///
    /// # Safety
    /// The conditions of [`PrintedKernels::run`].
    #[track_caller]
    unsafe fn rows(&self, rows: &Rows) -> Result<()> {
        let class = LayoutClass::Broadcast2d { repeated: rows.repeated };
        let kernel = self.kernels.kernel(self.printable, self.device, class)?;
        let mut arguments = Broadcast2dArguments {
            rows: rows.rows as u64,
            columns: rows.columns as u64,
            addresses: self.addresses(|_| 0),
            row_strides: [0; MAX_OPERANDS],
            scalars: self.padded_scalars(),
        };
        for (argument, &stride) in arguments.row_strides.iter_mut().zip(&rows.row_strides) {
            *argument = stride as i64;
        }
        // SAFETY: as in `dense`; the strides are those of the operands' rows.
        unsafe {
            let launch = kernel.grid_of_rows(arguments.rows, arguments.columns);
            self.enqueue(kernel, launch, &arguments)
        }
    }

    /// Operands of any strides; of more dimensions than a kernel takes, one launch for each
    /// position along the outermost.
    ///
    /// # Safety
    /// The conditions of [`PrintedKernels::run`].
    #[track_caller]
    unsafe fn strided(&self, space: &IterationSpace) -> Result<()> {
        let outer = space.sizes().len().saturating_sub(MAX_DIMS);
        let count = self.operands.tensors.len();
        let strides: SmallVec<[&[isize]; 6]> =
            (0..count).map(|operand| &space.strides(operand)[outer..]).collect();
        let sizes = &space.sizes()[outer..];
        let wide = !StridedArguments::fits_32_bits(sizes, &strides);
        let class = LayoutClass::Strided { dims: sizes.len(), wide };
        let kernel = self.kernels.kernel(self.printable, self.device, class)?;
        let mut arguments = StridedArguments::new(sizes);
        arguments.scalars = self.padded_scalars();
        for (operand, strides) in strides.iter().enumerate() {
            for (dim, &stride) in strides.iter().enumerate() {
                arguments.strides[operand][dim] = stride as i64;
            }
        }
        for position in 0..space.sizes()[..outer].iter().product() {
            arguments.addresses = self.addresses(|operand| space.offset(operand, outer, position));
            // SAFETY: as in `dense`; the offsets are those of positions along the outer dimensions.
            unsafe { self.enqueue(kernel, kernel.grid(arguments.numel), &arguments)? };
        }
        Ok(())
    }

    /// The addresses of the operands, each moved by a number of elements.
    fn addresses(&self, offset: impl Fn(usize) -> isize) -> [u64; MAX_OPERANDS] {
        let mut addresses = [0; MAX_OPERANDS];
        for (operand, (tensor, _)) in self.operands.tensors.iter().enumerate() {
            let moved = offset(operand) * tensor.dtype().size() as isize;
            addresses[operand] = self.operands.address(operand).wrapping_add_signed(moved as i64);
        }
        addresses
    }

    fn padded_scalars(&self) -> [u64; MAX_SCALARS] {
        let mut scalars = [0; MAX_SCALARS];
        scalars[..self.scalars.len()].copy_from_slice(self.scalars);
        scalars
    }

    /// # Safety
    /// The kernel takes such a struct, whose addresses are those of the operands.
    #[track_caller]
    unsafe fn enqueue<A: Copy>(
        &self,
        kernel: &PrintedFunction,
        launch: LaunchConfig,
        arguments: &A,
    ) -> Result<()> {
        // SAFETY: the conditions of this function are those of `enqueue`.
        unsafe { enqueue(self.device, self.operands.tensors, &kernel.function, launch, arguments) }
    }
}

impl PrintedFunction {
    #[cold]
    fn load(
        printable: Printable<'_>,
        device: Device,
        layout: LayoutClass,
    ) -> Result<PrintedFunction> {
        let Printable { op, expression, inputs, outputs } = printable;
        let spec = KernelSpec { name: Some(op), expression, inputs, outputs, layout };
        let kernel = match print(&spec) {
            Ok(kernel) => kernel,
            Err(PrintError::TooMany { what, given, max: most }) => {
                return Err(Error::TooManyOperands { op, what, given, most });
            }
            Err(error) => panic!("{op}: the dispatcher gives a printable expression: {error}"),
        };
        let module = device.load(kernel.text.as_bytes())?;
        module.mark_cached();
        let multiprocessors = u64::from(device.properties()?.multiprocessors);
        Ok(PrintedFunction {
            function: module.function(&kernel.entry)?,
            elements_per_thread: kernel.elements_per_thread as u64,
            blocks: multiprocessors * u64::from(BLOCKS_PER_MULTIPROCESSOR) * WAVES,
        })
    }

    /// The grid and block for rows of columns.
    fn grid_of_rows(&self, rows: u64, columns: u64) -> LaunchConfig {
        let per_thread = self.elements_per_thread as usize;
        let (grid, block) =
            Broadcast2dArguments::launch_shape(rows, columns, per_thread, THREADS as u32);
        LaunchConfig { grid, block, shared_bytes: 0 }
    }

    /// The grid for so many elements: no more blocks than fill the device a few times.
    fn grid(&self, numel: u64) -> LaunchConfig {
        let needed = numel.div_ceil(self.elements_per_thread).div_ceil(THREADS);
        let blocks = needed.clamp(1, self.blocks) as u32;
        LaunchConfig { grid: [blocks, 1, 1], block: [THREADS as u32, 1, 1], shared_bytes: 0 }
    }
}
