//! Launches: `<<<>>>` as nvcc compiles it, and the calls.

use std::cell::RefCell;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use cuda_sys::{CUdevice_attribute, CUfunction, CUkernel, CUlaunchConfig, CUstream};

use crate::api::{calls, calls_on_device};
use crate::context;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::registry;
use crate::types::{cudaLaunchConfig_t, dim3};

thread_local! {
    /// The configurations between `<<<` and `>>>` that are not yet launched. They nest, since arguments
    /// of a launch may launch.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// A launch without its kernel and arguments.
#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: CUstream,
}

/// `__cudaPushCallConfiguration`: remembers what stands between `<<<` and `>>>`. Gives 0, for which
/// the program goes on to the launch.
pub extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: CUstream,
) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|all| all.push(Configuration { grid, block, shared, stream }));
    0
}

calls! {
    fn __cudaPopCallConfiguration(
        grid: *mut dim3,
        block: *mut dim3,
        shared: *mut usize,
        stream: *mut CUstream,
    ) {
        let last = CONFIGURATIONS.with_borrow_mut(Vec::pop);
        let last = last.ok_or(cudaError_t::cudaErrorMissingConfiguration)?;
        grid.write(last.grid);
        block.write(last.block);
        shared.write(last.shared);
        stream.write(last.stream);
        Ok(())
    }
    fn __cudaGetKernel(kernel: *mut CUkernel, symbol: *const c_void) {
        get_kernel(kernel, symbol).inspect_err(|error| NOT_FOUND.store(error.0, Relaxed))
    }
    fn cudaGetKernel(kernel: *mut CUkernel, symbol: *const c_void) {
        get_kernel(kernel, symbol)
    }
}

calls_on_device! {
    fn cudaLaunchKernel | cudaLaunchKernel_ptsz [stream] (
        symbol: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: CUstream,
    ) {
        launch(symbol, Configuration { grid, block, shared, stream }, arguments)
    }
    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz [stream] (
        kernel: CUkernel,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: CUstream,
    ) {
        if kernel.is_null() {
            return Err(cudaError_t(NOT_FOUND.load(Relaxed)));
        }
        launch(kernel.cast_const().cast(), Configuration { grid, block, shared, stream }, arguments)
    }
    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz [stream] (
        symbol: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: CUstream,
    ) {
        launched(symbol, (grid, block, shared), |function, bytes| {
            let (dim3 { x, y, z }, dim3 { x: bx, y: by, z: bz }) = (grid, block);
            cu::cuLaunchCooperativeKernel(
                function, x, y, z, bx, by, bz, bytes, stream, arguments,
            )
        })
    }
    fn cudaLaunchKernelExC(
        configuration: *const cudaLaunchConfig_t,
        symbol: *const c_void,
        arguments: *mut *mut c_void,
    ) {
        launch_with_attributes(&*configuration, symbol, arguments)
    }
    fn cudaLaunchKernelExC_ptsz(
        configuration: *const cudaLaunchConfig_t,
        symbol: *const c_void,
        arguments: *mut *mut c_void,
    ) {
        let mut configuration = *configuration;
        configuration.stream = crate::api::per_thread(configuration.stream);
        launch_with_attributes(&configuration, symbol, arguments)
    }
}

/// The error for which a kernel was last not found. nvcc's code asks for a kernel at its first launch
/// only, looks at no error, and launches what it has, which is null then.
static NOT_FOUND: AtomicU32 = AtomicU32::new(cudaError_t::cudaErrorInvalidDeviceFunction.0);

/// # Safety
/// `kernel` must be writable.
unsafe fn get_kernel(kernel: *mut CUkernel, symbol: *const c_void) -> Result {
    let found = registry::kernel(symbol)?;
    registry::add_kernel(found, symbol);
    // SAFETY: the caller's place is writable.
    unsafe { kernel.write(found) };
    Ok(())
}

/// # Safety
/// The arguments must be what [`cudaLaunchKernel`] asks for.
unsafe fn launch(
    symbol: *const c_void,
    configuration: Configuration,
    arguments: *mut *mut c_void,
) -> Result {
    let Configuration { grid, block, shared, stream } = configuration;
    launched(symbol, (grid, block, shared), |function, bytes| {
        let (dim3 { x, y, z }, dim3 { x: bx, y: by, z: bz }) = (grid, block);
        // SAFETY: the caller's arguments are those of the kernel.
        unsafe {
            cu::cuLaunchKernel(function, x, y, z, bx, by, bz, bytes, stream, arguments, null_mut())
        }
    })
}

/// # Safety
/// The arguments must be what [`cudaLaunchKernelExC`] asks for.
unsafe fn launch_with_attributes(
    configuration: &cudaLaunchConfig_t,
    symbol: *const c_void,
    arguments: *mut *mut c_void,
) -> Result {
    let (grid, block) = (configuration.gridDim, configuration.blockDim);
    launched(symbol, (grid, block, configuration.dynamicSmemBytes), |function, bytes| {
        let driver = CUlaunchConfig {
            gridDimX: grid.x,
            gridDimY: grid.y,
            gridDimZ: grid.z,
            blockDimX: block.x,
            blockDimY: block.y,
            blockDimZ: block.z,
            sharedMemBytes: bytes,
            hStream: configuration.stream,
            attrs: configuration.attrs,
            numAttrs: configuration.numAttrs,
        };
        // SAFETY: the caller's arguments are those of the kernel, and its attributes are as the driver
        // has them.
        unsafe { cu::cuLaunchKernelEx(&driver, function, arguments, null_mut()) }
    })
}

/// Has `launch` launch the function that the host knows by `symbol`, with so many bytes of shared memory.
fn launched(
    symbol: *const c_void,
    (grid, block, shared): (dim3, dim3, usize),
    launch: impl FnOnce(CUfunction, c_uint) -> Result,
) -> Result {
    let function = registry::function(symbol)?;
    // The driver counts shared memory in fewer bits.
    let bytes = c_uint::try_from(shared).map_err(|_| cudaError_t::cudaErrorInvalidValue)?;
    launch(function, bytes).map_err(|error| explained(error, grid, block))
}

/// The runtime API's error for a launch that the driver refused: it tells apart a grid or block that
/// no device could run.
fn explained(error: cudaError_t, grid: dim3, block: dim3) -> cudaError_t {
    let refused = error == cudaError_t::cudaErrorInvalidValue;
    if refused && !fits(grid, block).unwrap_or(true) {
        cudaError_t::cudaErrorInvalidConfiguration
    } else {
        error
    }
}

/// Whether the current device could run such a grid of such blocks.
fn fits(grid: dim3, block: dim3) -> Result<bool> {
    type Attribute = CUdevice_attribute;
    let device = context::handle(context::device()?)?;
    let limit = |attribute| -> Result<u64> {
        let mut limit = 0;
        // SAFETY: `limit` is writable.
        unsafe { cu::cuDeviceGetAttribute(&mut limit, attribute, device) }?;
        Ok(u64::from(limit.cast_unsigned()))
    };
    let sizes = [
        (grid.x, Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
        (grid.y, Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
        (grid.z, Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
        (block.x, Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
        (block.y, Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
        (block.z, Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
    ];
    for (size, attribute) in sizes {
        if size == 0 || u64::from(size) > limit(attribute)? {
            return Ok(false);
        }
    }
    let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
    Ok(threads <= limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?)
}
