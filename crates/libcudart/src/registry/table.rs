//! The process's table of registered functions and variables.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use cuda_sys::{CUdeviceptr, CUkernel};

use super::FatBinary;
use crate::driver::cu;
use crate::error::Result;

/// A kernel or variable of a module.
#[derive(Debug, Clone)]
struct RegisteredName {
    /// The module's address, which is its handle.
    module: usize,
    name: CString,
}

impl RegisteredName {
    /// # Safety
    /// `module` must be registered, and `name` a string.
    unsafe fn new(module: *const FatBinary, name: *const c_char) -> RegisteredName {
        // SAFETY: the caller says that it is a string.
        let name = unsafe { CStr::from_ptr(name) };
        RegisteredName { module: module.expose_provenance(), name: name.to_owned() }
    }

    fn module(&self) -> &FatBinary {
        // SAFETY: entities are forgotten before their module goes, and a program must not end a
        // module whose code it uses.
        unsafe { &*with_exposed_provenance::<FatBinary>(self.module) }
    }
}

/// A registered kernel.
#[derive(Debug)]
pub(super) struct RegisteredKernel {
    entity: RegisteredName,
    /// The kernel's address.
    kernel: OnceLock<Result<usize>>,
}

impl RegisteredKernel {
    /// # Safety
    /// `module` must be registered, and `name` a string.
    pub(super) unsafe fn new(module: *const FatBinary, name: *const c_char) -> RegisteredKernel {
        // SAFETY: as this function.
        let entity = unsafe { RegisteredName::new(module, name) };
        RegisteredKernel { entity, kernel: OnceLock::new() }
    }

    /// The driver's kernel, for all contexts.
    pub(super) fn kernel(&self) -> Result<CUkernel> {
        let kernel = self.kernel.get_or_init(|| {
            let library = self.entity.module().library()?;
            let mut kernel: CUkernel = null_mut();
            // SAFETY: `kernel` is writable, and the name a string.
            unsafe { cu::cuLibraryGetKernel(&mut kernel, library, self.entity.name.as_ptr()) }?;
            Ok(kernel.expose_provenance())
        });
        kernel.map(with_exposed_provenance_mut)
    }
}

/// A registered variable.
#[derive(Debug, Clone)]
pub(crate) struct RegisteredVariable {
    entity: RegisteredName,
    managed: bool,
}

impl RegisteredVariable {
    /// # Safety
    /// `module` must be registered, and `name` a string.
    pub(super) unsafe fn new(
        module: *const FatBinary,
        name: *const c_char,
        managed: bool,
    ) -> RegisteredVariable {
        // SAFETY: as this function, whose promises are the same.
        let entity = unsafe { RegisteredName::new(module, name) };
        RegisteredVariable { entity, managed }
    }

    /// The variable's address and size in the current context.
    pub(crate) fn memory(&self) -> Result<(CUdeviceptr, usize)> {
        let library = self.entity.module().library()?;
        let (mut address, mut size) = (0, 0);
        let name = self.entity.name.as_ptr();
        // SAFETY: both are writable, and the name is a string.
        unsafe {
            if self.managed {
                cu::cuLibraryGetManaged(&mut address, &mut size, library, name)
            } else {
                cu::cuLibraryGetGlobal(&mut address, &mut size, library, name)
            }
        }?;
        Ok((address, size))
    }
}

#[derive(Debug, Default)]
struct RegisteredCode {
    /// By the address that the host knows each by.
    functions: HashMap<usize, Arc<RegisteredKernel>>,
    variables: HashMap<usize, RegisteredVariable>,
    /// The symbols of kernels that the program has handles of.
    kernels: HashMap<usize, usize>,
    /// The driver's function of each context and host's address.
    of_driver: HashMap<(usize, usize), usize>,
    /// The host's address of each function of the driver.
    symbols: HashMap<usize, usize>,
    modules: HashSet<usize>,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct RuntimeRegistry {
    entries: RwLock<RegisteredCode>,
}

/// The one of this process.
pub(super) fn table() -> &'static RuntimeRegistry {
    static TABLE: LazyLock<RuntimeRegistry> = LazyLock::new(RuntimeRegistry::default);
    &TABLE
}

impl RuntimeRegistry {
    fn read<T>(&self, look: impl FnOnce(&RegisteredCode) -> T) -> T {
        look(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut RegisteredCode) -> T) -> T {
        change(&mut self.entries.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add_function(&self, host: usize, function: RegisteredKernel) {
        self.write(|entries| entries.functions.insert(host, Arc::new(function)));
    }

    pub(super) fn add_variable(&self, host: usize, variable: RegisteredVariable) {
        self.write(|entries| entries.variables.insert(host, variable));
    }

    pub(super) fn add_kernel(&self, kernel: usize, symbol: usize) {
        self.write(|entries| entries.kernels.insert(kernel, symbol));
    }

    pub(super) fn add_module(&self, module: usize) {
        self.write(|entries| entries.modules.insert(module));
    }

    pub(super) fn add_driver_function(&self, context: usize, symbol: usize, function: usize) {
        self.write(|entries| {
            entries.of_driver.insert((context, symbol), function);
            let host = entries.kernels.get(&symbol).copied().unwrap_or(symbol);
            entries.symbols.insert(function, host);
        });
    }

    pub(super) fn driver_function(&self, context: usize, symbol: usize) -> Option<usize> {
        self.read(|entries| entries.of_driver.get(&(context, symbol)).copied())
    }

    pub(super) fn function(&self, host: usize) -> Option<Arc<RegisteredKernel>> {
        self.read(|entries| entries.functions.get(&host).cloned())
    }

    pub(super) fn variable(&self, host: usize) -> Option<RegisteredVariable> {
        self.read(|entries| entries.variables.get(&host).cloned())
    }

    pub(super) fn symbol_of_kernel(&self, kernel: usize) -> Option<usize> {
        self.read(|entries| entries.kernels.get(&kernel).copied())
    }

    pub(super) fn symbol_of(&self, function: usize) -> Option<usize> {
        self.read(|entries| entries.symbols.get(&function).copied())
    }

    /// Forgets what the driver gave for its contexts.
    pub(super) fn forget_functions(&self) {
        self.write(|entries| {
            entries.of_driver.clear();
            entries.symbols.clear();
        });
    }

    /// Gives the libraries of all modules back.
    pub(super) fn unload_all(&self) {
        self.forget_functions();
        let modules: Vec<_> = self.read(|entries| entries.modules.iter().copied().collect());
        for module in modules {
            // SAFETY: it is listed, so it is a module that was not yet unregistered.
            unsafe { &*with_exposed_provenance::<FatBinary>(module) }.unload();
        }
    }

    /// Forgets all of a module.
    pub(super) fn forget(&self, module: usize) {
        self.forget_functions();
        self.write(|entries| {
            entries.modules.remove(&module);
            entries.functions.retain(|_, function| function.entity.module != module);
            entries.variables.retain(|_, variable| variable.entity.module != module);
        });
    }

    /// Writes the addresses of a module's managed variables where the host looks for them. A
    /// variable is known by its address from then on, too, since that is what `&variable` is.
    pub(super) fn place_managed(&self, module: usize) -> Result {
        let managed: Vec<_> = self.read(|entries| {
            let all = entries.variables.iter();
            let managed =
                all.filter(|(_, variable)| variable.managed && variable.entity.module == module);
            managed.map(|(host, variable)| (*host, variable.clone())).collect()
        });
        for (host, variable) in managed {
            let (address, _) = variable.memory()?;
            let address = address as usize;
            if host != address {
                let place: *mut *mut c_void = with_exposed_provenance_mut(host);
                // SAFETY: the place was registered as that of the host's pointer.
                unsafe { place.write(with_exposed_provenance_mut(address)) };
            }
            self.add_variable(address, variable);
        }
        Ok(())
    }
}
