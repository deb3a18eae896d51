//! Kernels that are printed from expressions: one for each device and class of layouts, loaded with
//! the driver at its first launch.

use expression::Expression;
use expression::ptx::{
    Broadcast2dArguments, DenseArguments, KernelSpec, LayoutClass, MAX_DIMS, RepeatedOperands,
    StridedArguments, print,
};
use gpu_runtime::{Access, Device, Function, LaunchConfig};
use smallvec::SmallVec;

use super::cuda::{BLOCKS_PER_MULTIPROCESSOR, enqueue};
use super::iteration_space::IterationSpace;
use super::operands::Operands;
use crate::specializations::Specializations;
use crate::{DType, Result};

/// The number of threads per block.
const THREADS: u64 = 256;

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
    /// The number of blocks that fill the device.
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
    pub(super) unsafe fn launch(
        &self,
        printable: Printable<'_>,
        device: Device,
        operands: &Operands<'_>,
        space: &IterationSpace,
        scalars: &[u64],
    ) -> Result<()> {
        let count = operands.tensors.len();
        if space.is_dense(count) {
            let mut arguments = DenseArguments { numel: space.numel(), ..Default::default() };
            arguments.scalars[..scalars.len()].copy_from_slice(scalars);
            for operand in 0..count {
                arguments.addresses[operand] = operands.address(operand);
            }
            let kernel = self.kernel(printable, device, LayoutClass::Dense)?;
            // SAFETY: the kernel was printed for these dtypes and this class of layouts, and takes
            // this struct; the addresses and the number of elements are the operands' (a condition
            // of this function).
            return unsafe {
                let grid = kernel.grid(arguments.numel);
                enqueue(device, operands.tensors, &kernel.function, grid, &arguments)
            };
        }
        if let Some((repeated, [rows, columns])) = rows(operands, space) {
            let class = LayoutClass::Broadcast2d { repeated };
            let kernel = self.kernel(printable, device, class)?;
            let mut arguments = Broadcast2dArguments { rows, columns, ..Default::default() };
            arguments.scalars[..scalars.len()].copy_from_slice(scalars);
            for operand in 0..count {
                arguments.addresses[operand] = operands.address(operand);
                if let [row_stride, _] = *space.strides(operand) {
                    arguments.row_strides[operand] = row_stride as i64;
                }
            }
            let elements = kernel.elements_per_thread as usize;
            let (grid, block) =
                Broadcast2dArguments::launch_shape(rows, columns, elements, THREADS as u32);
            let grid = LaunchConfig { grid, block, shared_bytes: 0 };
            // SAFETY: as above; the rows and columns are the dimensions of the space, and which
            // operands repeat along the columns is the kernel's class.
            return unsafe {
                enqueue(device, operands.tensors, &kernel.function, grid, &arguments)
            };
        }
        let outer = space.sizes().len().saturating_sub(MAX_DIMS);
        let strides: SmallVec<[&[isize]; 6]> =
            (0..count).map(|operand| &space.strides(operand)[outer..]).collect();
        let sizes = &space.sizes()[outer..];
        let wide = !StridedArguments::fits_32_bits(sizes, &strides);
        let class = LayoutClass::Strided { dims: sizes.len(), wide };
        let kernel = self.kernel(printable, device, class)?;
        let mut arguments = StridedArguments::new(sizes);
        arguments.scalars[..scalars.len()].copy_from_slice(scalars);
        for (operand, strides) in strides.iter().enumerate() {
            for (dim, &stride) in strides.iter().enumerate() {
                arguments.strides[operand][dim] = stride as i64;
            }
        }
        for position in 0..space.sizes()[..outer].iter().product() {
            for operand in 0..count {
                let size = operands.tensors[operand].0.dtype().size() as isize;
                let moved = space.offset(operand, outer, position) * size;
                arguments.addresses[operand] =
                    operands.address(operand).wrapping_add_signed(moved as i64);
            }
            // SAFETY: as above; the offsets are those of positions along the outer dimensions.
            unsafe {
                let grid = kernel.grid(arguments.numel);
                enqueue(device, operands.tensors, &kernel.function, grid, &arguments)?;
            }
        }
        Ok(())
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
            LayoutClass::Broadcast2d { repeated } => 1 << 8 | u64::from(repeated.bits()) << 9,
            LayoutClass::Strided { dims, wide } => (dims as u64) << 1 | u64::from(wide),
        };
        self.0.try_get((device.index() as u64) << 32 | code, || {
            PrintedFunction::load(printable, device, class)
        })
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
        let kernel = print(&spec).unwrap_or_else(|error| {
            panic!("{op}: the dispatcher gives a printable expression: {error}")
        });
        let module = device.load(kernel.text.as_bytes())?;
        module.mark_cached();
        let multiprocessors = u64::from(device.properties()?.multiprocessors);
        Ok(PrintedFunction {
            function: module.function(&kernel.entry)?,
            elements_per_thread: kernel.elements_per_thread as u64,
            blocks: multiprocessors * u64::from(BLOCKS_PER_MULTIPROCESSOR),
        })
    }

    /// The grid for so many elements: no more blocks than fill the device.
    fn grid(&self, numel: u64) -> LaunchConfig {
        let needed = numel.div_ceil(self.elements_per_thread).div_ceil(THREADS);
        let blocks = needed.clamp(1, self.blocks) as u32;
        LaunchConfig { grid: [blocks, 1, 1], block: [THREADS as u32, 1, 1], shared_bytes: 0 }
    }
}

/// The space as rows of operands that are dense or repeat one element along a row: which of them
/// repeat, and the numbers of rows and columns. `None` if it is not of this form, or an output
/// repeats.
fn rows(operands: &Operands<'_>, space: &IterationSpace) -> Option<(RepeatedOperands, [u64; 2])> {
    let size = match *space.sizes() {
        [columns] => [1, columns as u64],
        [rows, columns] => [rows as u64, columns as u64],
        _ => return None,
    };
    let mut repeated = RepeatedOperands::default();
    for (operand, (_, access)) in operands.tensors.iter().enumerate() {
        match (space.strides(operand).last()?, access) {
            (1, _) => {}
            (0, Access::Read) => repeated = repeated.with(operand),
            _ => return None,
        }
    }
    Some((repeated, size))
}
