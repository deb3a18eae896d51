//! Modules: kernels loaded onto a device.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

use cuda_sys::{CUfunction, CUjit_option, CUmodule, CUresult};

use super::function::Function;
use super::image::Image;
use super::parameters::Declared;
use crate::device::{CachedItem, DeviceState, Handle, capture_mode, check, software, teardown};
use crate::error::{Error, Result};
use crate::queue::retired;
use crate::stream::registry;
use crate::types::Device;

/// Room for what the driver's compiler says about a module that it refuses.
const LOG_BYTES: usize = 16 * 1024;

/// Code on a device, from which kernels are taken by name.
///
/// Handles are cheap to clone. The code stays on the device as long as a handle, or a [`Function`]
/// of it, exists, and until the work that was enqueued by then is done.
///
/// ```no_run
/// # fn main() -> gpu_runtime::Result<()> {
/// let module = gpu_runtime::Device::get(0)?.load(std::fs::read("saxpy.ptx").unwrap())?;
/// let saxpy = module.function("saxpy")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Module(Arc<ModuleInner>);

struct ModuleInner {
    /// Taken out by `Drop` only.
    loaded: Option<LoadedModule>,
    state: &'static DeviceState,
    declared: Declared,
}

/// A module of the driver, unloaded when dropped.
struct LoadedModule {
    raw: Handle<CUmodule>,
    state: &'static DeviceState,
}

impl Module {
    /// The device on which the code is.
    pub fn device(&self) -> Device {
        self.0.state.device
    }

    /// The kernel of a name.
    ///
    /// # Errors
    /// [`Error::FunctionNotFound`] if there is none.
    pub fn function(&self, name: &str) -> Result<Function> {
        let not_found = || Error::FunctionNotFound { name: name.to_owned() };
        let symbol = CString::new(name).map_err(|_| not_found())?;
        if name.is_empty() {
            return Err(not_found());
        }
        let state = self.0.state;
        let mut raw: CUfunction = null_mut();
        state.bind()?;
        // SAFETY: `raw` is writable, and the module is loaded in the context that is current.
        let got =
            unsafe { (state.driver.cuModuleGetFunction)(&mut raw, self.raw(), symbol.as_ptr()) };
        if got == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(not_found());
        }
        check::on_device(state, "cuModuleGetFunction", got)?;
        Function::new(self.clone(), name, Handle(raw))
    }

    /// Loads what has no machine code in it.
    pub(crate) fn load(device: Device, image: &[u8]) -> Result<Module> {
        let kind = Image::of(image).map_err(|why| refused(device, why))?;
        if matches!(kind, Image::MachineCode | Image::Container { has_machine_code: true }) {
            let why = "there is machine code in it, which only Device::load_binary loads";
            return Err(refused(device, why));
        }
        // SAFETY: there is no machine code in it.
        unsafe { Module::of(device, image, kind) }
    }

    /// # Safety
    /// Machine code in the image is whole and as NVIDIA's tools have made it.
    pub(crate) unsafe fn load_binary(device: Device, image: &[u8]) -> Result<Module> {
        let kind = Image::of(image).map_err(|why| refused(device, why))?;
        // SAFETY: the caller promises that of the machine code.
        unsafe { Module::of(device, image, kind) }
    }

    /// Loads an image that is of that kind.
    ///
    /// # Safety
    /// As [`Module::load_binary`].
    unsafe fn of(device: Device, image: &[u8], kind: Image) -> Result<Module> {
        let state = device.state();
        let terminated;
        let (image, text) = match kind {
            Image::Text if image.last() != Some(&0) => {
                terminated = [image, &[0]].concat();
                (&terminated[..], Some(image))
            }
            Image::Text => (image, Some(image)),
            Image::Container { .. } | Image::MachineCode => (image, None),
        };
        state.bind()?;
        // Safe during a capture too: nothing that is captured depends on it.
        let _allowed = capture_mode::relaxed();
        let raw = load(state, image)?;
        let declared = match state.driver.cuFuncGetParamInfo {
            Some(_) => Declared::default(),
            None => text.map(Declared::in_ptx).unwrap_or_default(),
        };
        let loaded = Some(LoadedModule { raw, state });
        Ok(Module(Arc::new(ModuleInner { loaded, state, declared })))
    }

    /// The parameters of kernels as the module's text declares them, where the driver does not tell.
    pub(crate) fn declared(&self) -> &Declared {
        &self.0.declared
    }

    /// Says that a library keeps the module loaded for as long as the process lives, or for reuse:
    /// the software driver's list of what a program has not given back leaves it out.
    pub fn mark_cached(&self) {
        software::keep_object(self.raw().addr() as u64);
    }

    pub(crate) fn state(&self) -> &'static DeviceState {
        self.0.state
    }

    fn raw(&self) -> CUmodule {
        let loaded = self.0.loaded.as_ref();
        loaded.expect("it is taken only when the module is dropped").raw.0
    }
}

impl Device {
    /// Loads a module onto the device: the text of PTX, or a fat binary with nothing else in it. See
    /// [`Module`].
    ///
    /// # Errors
    /// [`Error::ModuleLoad`] with what the driver's compiler says, if the driver refuses it, and for
    /// what is neither of the two: machine code takes [`load_binary`](Device::load_binary).
    pub fn load(self, image: impl AsRef<[u8]>) -> Result<Module> {
        Module::load(self, image.as_ref())
    }

    /// Loads a module onto the device that may be, or contain, machine code: an ELF file for GPUs
    /// (cubin), or a fat binary.
    ///
    /// # Errors
    /// [`Error::ModuleLoad`] if the driver refuses it, or it is cut off.
    ///
    /// # Safety
    /// Machine code in the image is as NVIDIA's tools have made it. The driver follows what it says
    /// of itself, and nobody can see from outside where that leads.
    pub unsafe fn load_binary(self, image: impl AsRef<[u8]>) -> Result<Module> {
        // SAFETY: the caller promises that of the machine code, and all else is looked through.
        unsafe { Module::load_binary(self, image.as_ref()) }
    }
}

/// Has the driver load an image that was looked through.
fn load(state: &DeviceState, image: &[u8]) -> Result<Handle<CUmodule>> {
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), without_provenance_mut(LOG_BYTES)];
    let mut raw: CUmodule = null_mut();
    // SAFETY: the image is machine code as NVIDIA's tools make it, a container whose entries were
    // walked, or ends in NUL; each option has its value, and the buffer that they name is as long as
    // they say.
    let result = unsafe {
        (state.driver.cuModuleLoadDataEx)(
            &mut raw,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if !refuses_image(result) {
        check::on_device(state, "cuModuleLoadDataEx", result)?;
        return Ok(Handle(raw));
    }
    let length = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    Err(Error::ModuleLoad {
        device: state.device,
        name: check::name(result),
        log: String::from_utf8_lossy(&log[..length]).trim().to_owned(),
    })
}

/// The error for an image that the driver is not even asked about.
fn refused(device: Device, why: &str) -> Error {
    let name = check::name(CUresult::CUDA_ERROR_INVALID_IMAGE);
    Error::ModuleLoad { device, name, log: why.to_owned() }
}

/// Whether an error is about the code rather than about the device.
fn refuses_image(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_INVALID_PTX
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
            | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED
            | CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
            | CUresult::CUDA_ERROR_NOT_SUPPORTED
    )
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let Some(loaded) = self.loaded.take() else { return };
        // Launches keep no handle: any stream of the device may still be running this code.
        let device = self.state.device;
        let streams = registry::streams(device);
        let until = streams.iter().map(|stream| stream.point()).collect();
        retired::of_device(device).keep_known(until, CachedItem::object(loaded.raw.0), loaded);
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        teardown::destroy(self.state, "cuModuleUnload", |driver| {
            // SAFETY: no handle is left, and the work that may use the code is done.
            unsafe { (driver.cuModuleUnload)(self.raw.0) }
        });
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module(on {})", self.device())
    }
}

/// Reads an attribute of a function.
pub(crate) fn attribute(
    state: &DeviceState,
    function: Handle<CUfunction>,
    attribute: cuda_sys::CUfunction_attribute,
) -> Result<u32> {
    let mut value: c_int = 0;
    state.call("cuFuncGetAttribute", |driver| {
        // SAFETY: `value` is writable, and the caller keeps the function's module loaded.
        unsafe { (driver.cuFuncGetAttribute)(&mut value, attribute, function.0) }
    })?;
    Ok(u32::try_from(value).unwrap_or(0))
}
