//! The kernels and variables that the program's own code registers when it starts, and the
//! driver's handles of them, which are asked for at the first use.

mod fat_binary;
mod linked;
mod loading;
mod table;

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut};

use cuda_sys::{CUdeviceptr, CUfunction, CUkernel};

use self::fat_binary::FatBinary;
use self::loading::loading;
use self::table::{RegisteredKernel, RegisteredVariable, table};
use crate::context;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::last_error;

/// `__cudaRegisterFatBinary`: a program or a shared library has device code.
///
/// # Safety
/// `wrapper` must be what nvcc wrote, and stay until the handle is unregistered.
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    // SAFETY: the caller's wrapper stays.
    let module = unsafe { FatBinary::of_wrapper(wrapper) };
    let module = Box::into_raw(Box::new(module));
    table().add_module(module.expose_provenance());
    module.cast()
}

/// `__cudaRegisterFatBinaryEnd`: all of it is registered.
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// `__cudaUnregisterFatBinary`: the program ends, or the shared library is closed.
///
/// # Safety
/// `handle` must be one of [`__cudaRegisterFatBinary`], given back once.
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    table().forget(handle.addr());
    // SAFETY: the handle is a boxed module, and the table no longer refers to it.
    let module = unsafe { Box::from_raw(handle.cast::<FatBinary>()) };
    module.unload();
}

/// `__cudaRegisterFunction`: a kernel, known to the host by the address of a function of its own.
///
/// # Safety
/// `handle` must be registered, and `name` a string.
#[allow(clippy::too_many_arguments, reason = "nvcc's code calls it so")]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host_function: *const c_char,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut c_int,
) {
    // SAFETY: the caller's handle and name are valid.
    let function = unsafe { RegisteredKernel::new(handle.cast_const().cast(), name) };
    table().add_function(host_function.addr(), function);
}

/// `__cudaRegisterVar`: a variable, known to the host by the address of its shadow.
///
/// # Safety
/// `handle` must be registered, and `name` a string.
#[allow(clippy::too_many_arguments, reason = "nvcc's code calls it so")]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    shadow: *mut c_char,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller's handle and name are valid.
    let variable = unsafe { RegisteredVariable::new(handle.cast_const().cast(), name, false) };
    table().add_variable(shadow.addr(), variable);
}

/// `__cudaRegisterManagedVar`: a managed variable, which the host reaches by the pointer at
/// `pointer`.
///
/// # Safety
/// `handle` must be registered, `name` a string, and `pointer` writable for as long.
#[allow(clippy::too_many_arguments, reason = "nvcc's code calls it so")]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller's handle and name are valid.
    let variable = unsafe { RegisteredVariable::new(handle.cast_const().cast(), name, true) };
    table().add_variable(pointer.expose_provenance(), variable);
}

/// `__cudaInitModule`: the host is about to use a managed variable of the module.
///
/// # Safety
/// `handle` must be registered.
pub unsafe extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let all = || -> Result {
        context::enter()?;
        loading(|| table().place_managed(handle.addr()))
    };
    c_char::from(last_error::answer(all()) == cudaError_t::cudaSuccess)
}

/// The address and the size, in the current context, of the variable that the host knows by
/// `symbol`.
pub(crate) fn variable(symbol: *const c_void) -> Result<(CUdeviceptr, usize)> {
    let variable = table().variable(symbol.addr()).ok_or(cudaError_t::cudaErrorInvalidSymbol)?;
    loading(|| variable.memory())
}

/// The kernel that the host knows by `symbol`: the address of a function, or a kernel's handle.
pub(crate) fn kernel(symbol: *const c_void) -> Result<CUkernel> {
    let found = table().function(symbol.addr());
    match found {
        Some(function) => function.kernel(),
        None if table().symbol_of_kernel(symbol.addr()).is_some() => Ok(symbol.cast_mut().cast()),
        None => Err(cudaError_t::cudaErrorInvalidDeviceFunction),
    }
}

/// The function, in the current context, of the kernel that the host knows by `symbol`.
pub(crate) fn function(symbol: *const c_void) -> Result<CUfunction> {
    let context = context::current()?.addr();
    if let Some(known) = table().driver_function(context, symbol.addr()) {
        return Ok(with_exposed_provenance_mut(known));
    }
    let function = loading(|| {
        let kernel = kernel(symbol)?;
        let mut function: CUfunction = null_mut();
        // SAFETY: `function` is writable, and the driver knows the kernel.
        unsafe { cu::cuKernelGetFunction(&mut function, kernel) }?;
        Ok(function)
    })?;
    table().add_driver_function(context, symbol.addr(), function.expose_provenance());
    Ok(function)
}

/// Forgets the functions of all contexts: one of them is about to go.
pub(crate) fn forget_functions() {
    table().forget_functions();
}

/// Gives all libraries back. It runs before the driver's own end, which was arranged earlier, and
/// before nvcc's code unregisters what it registered.
extern "C" fn unload_all() {
    table().unload_all();
}

/// The symbol that a driver's function was last found by.
pub(crate) fn symbol_of(function: CUfunction) -> Option<*mut c_void> {
    table().symbol_of(function.addr()).map(with_exposed_provenance_mut)
}

/// Remembers a kernel whose handle the program gets, so that it may stand for the symbol. One of a
/// library that the program loads itself has no other symbol.
pub(crate) fn add_kernel(kernel: CUkernel, symbol: *const c_void) {
    table().add_kernel(kernel.expose_provenance(), symbol.expose_provenance());
}
