//! Libraries: programs that belong to no context, and become a module in each that uses them.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Weak};

use cuda_sys::CUresult;
use parking_lot::Mutex;
use ptx_jit::{Kernel, Program};

use super::module::{ContextModule, KernelFunction};
use crate::device::contexts::context::Context;
use crate::device::registry::Registry;

/// A library.
pub(crate) struct Library {
    pub(crate) handle: u64,
    program: Arc<Program>,
    /// Handles of the modules, by context.
    modules: Mutex<HashMap<u64, u64>>,
    /// Handles of the kernels that were asked for.
    kernels: Mutex<HashMap<String, u64>>,
}

/// A kernel of a library.
pub(crate) struct LibraryKernel {
    library: Weak<Library>,
    pub(crate) name: CString,
    /// The most dynamic shared memory that a launch may ask for, by device, where it was set.
    max_dynamic_shared: Mutex<HashMap<u32, u32>>,
}

impl Library {
    pub(crate) fn new(handle: u64, program: Arc<Program>) -> Library {
        Library { handle, program, modules: Mutex::default(), kernels: Mutex::default() }
    }

    /// The names of its kernels.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.program.kernel_names()
    }

    /// The handle of the kernel of that name.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND`.
    pub(crate) fn kernel(
        self: &Arc<Library>,
        registry: &Registry<LibraryKernel>,
        name: &str,
    ) -> Result<u64, CUresult> {
        let mut kernels = self.kernels.lock();
        if let Some(&handle) = kernels.get(name) {
            return Ok(handle);
        }
        self.program.kernel(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let kernel = LibraryKernel {
            library: Arc::downgrade(self),
            name: CString::new(name).map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?,
            max_dynamic_shared: Mutex::default(),
        };
        let (handle, _) = registry.insert(|_| kernel).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        kernels.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// The library as a module of a context, made when first asked for.
    ///
    /// # Errors
    /// Those of [`ContextModule::new`].
    pub(crate) fn module(
        &self,
        registry: &Registry<ContextModule>,
        context: &Arc<Context>,
    ) -> Result<Arc<ContextModule>, CUresult> {
        let mut modules = self.modules.lock();
        let known = modules.get(&context.id).and_then(|&handle| registry.get(handle));
        if let Some(module) = known {
            return Ok(module);
        }
        let first = modules.values().find_map(|&handle| registry.get(handle));
        let program = Arc::clone(&self.program);
        let module = ContextModule::new(Arc::clone(context), program, first.as_deref())?;
        let insert = |handle| module.of_library(handle);
        let inserted = registry.insert(insert);
        let (handle, module) = inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        modules.insert(context.id, handle);
        Ok(module)
    }

    /// Takes it down in all contexts.
    pub(crate) fn unload(
        &self,
        kernels: &Registry<LibraryKernel>,
        modules: &Registry<ContextModule>,
        functions: &Registry<KernelFunction>,
    ) {
        let own = std::mem::take(&mut *self.modules.lock());
        for module in own.into_values().filter_map(|handle| modules.remove(handle)) {
            module.unload(functions);
        }
        for handle in std::mem::take(&mut *self.kernels.lock()).into_values() {
            drop(kernels.remove(handle));
        }
    }
}

impl LibraryKernel {
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if the library has been unloaded.
    pub(crate) fn library(&self) -> Result<Arc<Library>, CUresult> {
        self.library.upgrade().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    fn name(&self) -> &str {
        // It was made of a text.
        self.name.to_str().unwrap_or_default()
    }

    /// Looks at the kernel in the library's program, which needs no context.
    ///
    /// # Errors
    /// As [`library`](LibraryKernel::library).
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Kernel) -> R) -> Result<R, CUresult> {
        let library = self.library()?;
        library.program.kernel(self.name()).map(look).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
    }

    /// Its function in a context.
    ///
    /// # Errors
    /// Those of [`Library::module`].
    pub(crate) fn function(
        &self,
        modules: &Registry<ContextModule>,
        functions: &Registry<KernelFunction>,
        context: &Arc<Context>,
    ) -> Result<(u64, Arc<KernelFunction>), CUresult> {
        let handle = self.library()?.module(modules, context)?.function(functions, self.name())?;
        let function = functions.get(handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        if let Some(bytes) = self.max_dynamic_shared(context.device.id.ordinal) {
            function.set_max_dynamic_shared(bytes)?;
        }
        Ok((handle, function))
    }

    /// The most dynamic shared memory that a launch may ask for on a device, if it was set.
    pub(crate) fn max_dynamic_shared(&self, ordinal: u32) -> Option<u32> {
        self.max_dynamic_shared.lock().get(&ordinal).copied()
    }

    pub(crate) fn set_max_dynamic_shared(&self, ordinal: u32, bytes: u32) {
        self.max_dynamic_shared.lock().insert(ordinal, bytes);
    }
}
