//! Functions: kernels that can be launched, and what a launch must fit into.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sys::{CUfunction, CUfunction_attribute as Attribute};

use super::arguments::KernelArguments;
use super::module::{Module, attribute};
use super::parameters::ParameterSizes;
use crate::device::Handle;
use crate::error::{Error, LaunchProblem, Result};
use crate::order::ordered_at;
use crate::queue::enqueue;
use crate::stream::{GraphResource, Request, Stream};
use crate::types::{Device, KernelName, Properties, Work};

/// A kernel of a module, ready to be launched. Handles are cheap to clone and keep the module; to
/// look a function up asks the driver, so programs keep what they launch often.
#[derive(Clone)]
pub struct Function(Arc<FunctionInner>);

struct FunctionInner {
    module: Module,
    raw: Handle<CUfunction>,
    name: KernelName,
    /// The work that the ledger notes for each launch.
    work: Work,
    max_threads_per_block: u32,
    static_shared_bytes: u32,
    /// The sizes of what it takes, if anybody says so.
    parameters: Option<ParameterSizes>,
    /// The dynamic shared memory that a launch may ask for.
    allowed_shared_bytes: AtomicU32,
    device: &'static Properties,
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks of the grid, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Shared memory of each block beyond what the kernel declares, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// A launch without dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig { grid, block, shared_bytes: 0 }
    }

    /// A launch with a thread for each of `n` elements, in blocks of 256. The last block may have
    /// threads without an element, and for no elements there still is one block, so the kernel must
    /// compare its index with `n`.
    pub fn for_elements(n: usize) -> LaunchConfig {
        const BLOCK: u32 = 256;
        let blocks = n.div_ceil(BLOCK as usize).clamp(1, i32::MAX as usize);
        LaunchConfig::new([blocks as u32, 1, 1], [BLOCK, 1, 1])
    }

    /// The same with dynamic shared memory.
    pub const fn with_shared_bytes(self, shared_bytes: u32) -> LaunchConfig {
        LaunchConfig { shared_bytes, ..self }
    }
}

impl Function {
    pub(crate) fn new(
        module: Module,
        name_in_module: &str,
        raw: Handle<CUfunction>,
    ) -> Result<Function> {
        let state = module.state();
        let get = |of| attribute(state, raw, of);
        let device = state.device.known_properties()?;
        let name = KernelName::of(name_in_module);
        let static_shared_bytes = get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        let shared = device.shared_bytes_per_block.saturating_sub(static_shared_bytes);
        Ok(Function(Arc::new(FunctionInner {
            max_threads_per_block: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            static_shared_bytes,
            parameters: ParameterSizes::of(&module, raw, name_in_module)?,
            allowed_shared_bytes: AtomicU32::new(shared),
            work: Work::Kernel { name },
            name,
            raw,
            module,
            device,
        })))
    }

    /// The kernel's name in its module.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The same, to keep beyond the function.
    pub fn kernel_name(&self) -> KernelName {
        self.0.name
    }

    /// The device on which the kernel can run.
    pub fn device(&self) -> Device {
        self.0.module.device()
    }

    /// The sizes of what the kernel takes, in bytes and in order; nothing if neither the driver nor the
    /// module's text says so.
    pub fn parameters(&self) -> Option<&[usize]> {
        self.0.parameters.as_ref().map(ParameterSizes::sizes)
    }

    /// The most threads that a block of this kernel can have.
    pub fn max_threads_per_block(&self) -> u32 {
        self.0.max_threads_per_block
    }

    /// Lets launches ask for up to `bytes` of dynamic shared memory, beyond what every kernel may.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`] if the device has not that much for a block; else the driver's.
    pub fn allow_shared_bytes(&self, bytes: u32) -> Result<()> {
        let most = self.0.device.max_shared_bytes_per_block;
        let max = most.saturating_sub(self.0.static_shared_bytes);
        if bytes > max {
            return Err(self.invalid(LaunchProblem::TooMuchSharedMemory { bytes, max }));
        }
        self.0.module.state().call("cuFuncSetAttribute", |driver| {
            let of = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function's module is kept.
            unsafe { (driver.cuFuncSetAttribute)(self.0.raw.0, of, bytes as c_int) }
        })?;
        self.0.allowed_shared_bytes.fetch_max(bytes, Ordering::AcqRel);
        Ok(())
    }

    /// Enqueues a run of the kernel, and returns at once.
    ///
    /// `args` is a tuple of what the kernel takes, in order: integers, floats, [`DevicePtr`],
    /// buffers and [`ByValue`] structs. A launch that is given buffers comes after earlier work on
    /// them, on whichever stream that is: `&buffer` counts as read, `&mut buffer` as written.
    /// Memory that is given by address is in the caller's care.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`] if the launch does not fit the kernel or the device, and for arguments
    /// of other sizes than the kernel's. (Of machine code, a driver before CUDA 12.4 does not tell
    /// what it takes.) What goes wrong while the kernel runs appears at a later call, as
    /// [`Error::DeviceLost`].
    ///
    /// # Safety
    /// The kernel takes exactly these arguments: of these types, and not only of these sizes. With
    /// them it accesses only memory that the device can reach, of which it writes nothing that is
    /// given by `&`, and which nobody else uses in a conflicting way until the kernel is done; what
    /// is given by address lives until then.
    ///
    /// [`DevicePtr`]: crate::DevicePtr
    /// [`ByValue`]: crate::ByValue
    #[inline]
    #[track_caller]
    pub unsafe fn launch<A: KernelArguments>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: A,
    ) -> Result<()> {
        if let Some(problem) = self.problem(stream, &config) {
            return Err(self.invalid(problem));
        }
        if let Some(takes) = &self.0.parameters
            && takes.sizes() != A::SIZES
        {
            let (takes, given) = (takes.sizes().to_vec(), A::SIZES.to_vec());
            return Err(self.invalid(LaunchProblem::Arguments { takes, given }));
        }
        let place = Location::caller();
        args.with(|parameters, operands| {
            let mut issue = || {
                // SAFETY: the caller promises that the kernel takes these arguments, of which
                // `parameters` has the addresses, and accesses only memory that is there for it.
                unsafe { self.issue(stream, &config, parameters, place) }
            };
            match operands {
                [] => issue(),
                operands => ordered_at(place, stream, operands, issue),
            }
        })
    }

    /// # Safety
    /// As [`Function::launch`], with `parameters` being the addresses of the arguments.
    unsafe fn issue(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        parameters: &mut [*mut c_void],
        place: &'static Location<'static>,
    ) -> Result<()> {
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        let (function, shared) = (self.0.raw.0, config.shared_bytes);
        let request =
            Request { place, keeps: Some(self), ..Request::new(&self.0.work, "cuLaunchKernel") };
        enqueue(stream, &request, |driver, raw| {
            // SAFETY: the caller promises what `launch` asks for; the driver copies the arguments before it returns.
            unsafe {
                (driver.cuLaunchKernel)(
                    function,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared,
                    raw,
                    parameters.as_mut_ptr(),
                    null_mut(),
                )
            }
        })
        .into_result()
    }

    #[inline]
    fn problem(&self, stream: &Stream, config: &LaunchConfig) -> Option<LaunchProblem> {
        let LaunchConfig { grid, block, shared_bytes: bytes } = *config;
        let device = self.0.device;
        let threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
        let max_shared = self.0.allowed_shared_bytes.load(Ordering::Acquire);
        if grid.contains(&0) || threads == 0 {
            Some(LaunchProblem::Empty { grid, block })
        } else if exceeds(grid, device.max_grid) {
            Some(LaunchProblem::GridTooLarge { grid, max: device.max_grid })
        } else if exceeds(block, device.max_block) {
            Some(LaunchProblem::BlockTooLarge { block, max: device.max_block })
        } else if threads > u64::from(self.0.max_threads_per_block) {
            let max = self.0.max_threads_per_block;
            Some(LaunchProblem::TooManyThreads { block, threads, max })
        } else if bytes > max_shared {
            Some(LaunchProblem::TooMuchSharedMemory { bytes, max: max_shared })
        } else if stream.device() != self.device() {
            let function = self.device();
            Some(LaunchProblem::OtherDevice { function, stream: stream.id() })
        } else {
            None
        }
    }

    fn invalid(&self, problem: LaunchProblem) -> Error {
        Error::InvalidLaunch { function: self.name().into(), problem }
    }
}

impl GraphResource for Function {
    fn to_keep(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(self.clone())
    }
}

fn exceeds(size: [u32; 3], max: [u32; 3]) -> bool {
    size.iter().zip(max).any(|(size, max)| *size > max)
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} on {})", self.name(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::LaunchConfig;

    #[test]
    fn a_launch_for_elements_has_a_thread_for_each_and_at_least_one_block() {
        let blocks = |n| LaunchConfig::for_elements(n).grid[0];
        assert_eq!([0, 1, 256, 257, 1 << 20].map(blocks), [1, 1, 1, 2, 4096]);
        assert_eq!(blocks(usize::MAX), i32::MAX as u32);
    }
}
