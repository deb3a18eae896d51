//! Modules, their variables and their functions.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};
use ptx_jit::{
    CheckLevel, CompiledKernel, Execution, GlobalVariable, Kernel, Parameter, Program, Space, stack,
};

use super::prepared::Prepared;
use crate::device::attributes::{STATIC_SHARED, STATIC_SHARED_OPTIN};
use crate::device::contexts::context::Context;
use crate::device::gpu::Device;
use crate::device::memory::allocation::{GlobalAllocation, Purpose};
use crate::device::registry::Registry;
use crate::time::{self, PerThread};
use cuda_check::console;

/// A module that was loaded into a context.
pub(crate) struct ContextModule {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: u64,
    is_of_library: bool,
    program: Arc<Program>,
    /// The addresses of the program's variables, in its order.
    variables: Vec<u64>,
    /// Their memory, except that of managed variables which another context's module has.
    memory: Vec<Option<Arc<GlobalAllocation>>>,
    /// Handles of the functions that were asked for.
    functions: Mutex<HashMap<String, u64>>,
}

/// A kernel of a module.
pub(crate) struct KernelFunction {
    pub(crate) module: Arc<ContextModule>,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) parameter_bytes: usize,
    /// The offset behind the parameters at which the kernel expects the address of a cooperative
    /// launch's workspace.
    pub(crate) workspace: Option<usize>,
    pub(crate) static_shared: u32,
    pub(crate) max_threads: u32,
    /// An estimate of the work of one of its threads, for virtual time.
    pub(in crate::device) work: PerThread,
    /// The most dynamic shared memory that a launch may ask for.
    pub(crate) max_dynamic_shared: AtomicU32,
    c_name: OnceLock<CString>,
    prepared: Mutex<Prepared>,
    compiled: [OnceLock<Arc<CompiledKernel>>; Execution::COUNT],
}

impl ContextModule {
    /// Gives the program's variables memory on the context's device and initialises them. Managed
    /// variables are those of `first`, the module of the same program in another context, if there
    /// is one.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`; `CUDA_ERROR_INVALID_IMAGE` for a variable that is declared but
    /// not defined.
    pub(crate) fn new(
        context: Arc<Context>,
        program: Arc<Program>,
        first: Option<&ContextModule>,
    ) -> Result<ContextModule, CUresult> {
        let device: &'static Device = context.device;
        let allocate = |variable: &GlobalVariable| {
            let (bytes, purpose) = (variable.bytes as u64, Purpose::Module);
            match (bytes, variable.managed) {
                (0, _) => Err(CUresult::CUDA_ERROR_INVALID_IMAGE),
                (_, true) if first.is_some() => Ok(None),
                (_, true) => device.memory.allocate_managed(bytes, context.id, purpose).map(Some),
                _ => device.memory.allocate(bytes, context.id, purpose).map(Some),
            }
        };
        let memory: Vec<Option<Arc<GlobalAllocation>>> =
            program.globals().iter().map(allocate).collect::<Result<_, _>>()?;
        for (allocation, variable) in memory.iter().zip(program.globals()) {
            if let Some(allocation) = allocation
                && variable.space == Space::Const
            {
                cuda_check::constant(allocation.address);
            }
        }
        let own = |(index, allocation): (usize, &Option<Arc<GlobalAllocation>>)| match allocation {
            Some(allocation) => allocation.address,
            None => first.map_or(0, |first| first.variables[index]),
        };
        let variables = memory.iter().enumerate().map(own).collect();
        let functions = Mutex::default();
        let (handle, is_of_library) = (0, false);
        let module =
            ContextModule { context, handle, is_of_library, program, variables, memory, functions };
        module.initialise();
        Ok(module)
    }

    /// The module with its handle.
    pub(crate) fn named(mut self, handle: u64) -> ContextModule {
        self.handle = handle;
        self
    }

    /// The module, of a library, with its handle.
    pub(crate) fn of_library(mut self, handle: u64) -> ContextModule {
        self.is_of_library = true;
        self.named(handle)
    }

    pub(crate) fn is_of_library(&self) -> bool {
        self.is_of_library
    }

    /// The names of its kernels.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.program.kernel_names()
    }

    /// Waits for what may use it, and forgets its functions. The caller has made sure that the
    /// handle names it no more.
    pub(crate) fn unload(self: &Arc<ContextModule>, functions: &Registry<KernelFunction>) {
        // What is queued keeps the module alive, but may use its variables through pointers too.
        self.context.scheduler.wait_for_owner(self.context.id);
        self.context.output.write();
        drop(functions.remove_all(|function| Arc::ptr_eq(&function.module, self)));
    }

    /// The function of that name.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND`.
    pub(crate) fn function(
        self: &Arc<ContextModule>,
        registry: &Registry<KernelFunction>,
        name: &str,
    ) -> Result<u64, CUresult> {
        let mut functions = self.functions.lock();
        if let Some(&handle) = functions.get(name) {
            return Ok(handle);
        }
        let kernel = self.program.kernel(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let function = KernelFunction::new(Arc::clone(self), kernel);
        let (handle, _) =
            registry.insert(|_| function).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// Address and size of the variable of that name.
    pub(crate) fn variable(&self, name: &str) -> Option<(u64, usize)> {
        let index = self.program.globals().iter().position(|variable| variable.name == name)?;
        Some((self.variables[index], self.program.globals()[index].bytes))
    }

    /// Address and size of the managed variable of that name.
    pub(crate) fn managed_variable(&self, name: &str) -> Option<(u64, usize)> {
        let mut globals = self.program.globals().iter();
        globals.find(|variable| variable.managed && variable.name == name)?;
        self.variable(name)
    }

    /// The addresses of all variables.
    pub(in crate::device) fn variables(&self) -> &[u64] {
        &self.variables
    }

    fn initialise(&self) {
        for (variable, memory) in self.program.globals().iter().zip(&self.memory) {
            let Some(memory) = memory else {
                continue;
            };
            if !memory.begins_as_zero() {
                let to: *mut u8 = ptr::with_exposed_provenance_mut(memory.address as usize);
                // SAFETY: the variable's memory was just allocated, with that size.
                unsafe { to.write_bytes(0, variable.bytes) };
            }
            let write = |offset: usize, bytes: &[u8]| {
                assert!(offset + bytes.len() <= variable.bytes, "values lie in their variable");
                let place = memory.address as usize + offset;
                let to: *mut u8 = ptr::with_exposed_provenance_mut(place);
                // SAFETY: that is inside of the variable's memory, which was just allocated.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            };
            for (offset, piece) in variable.initial.pieces() {
                write(offset, piece);
            }
            for relocation in &variable.relocations {
                let target = self.variables[relocation.target];
                let value = target.wrapping_add_signed(relocation.addend);
                write(relocation.offset, &value.to_le_bytes());
            }
        }
    }
}

impl Drop for ContextModule {
    fn drop(&mut self) {
        for allocation in self.memory.iter().flatten() {
            self.context.device.memory.free(allocation);
        }
    }
}

impl KernelFunction {
    fn new(module: Arc<ContextModule>, kernel: &Kernel) -> KernelFunction {
        let clamped = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let static_shared = clamped(kernel.static_shared_bytes());
        KernelFunction {
            module,
            name: kernel.name().to_owned(),
            parameters: kernel.parameters().to_vec(),
            parameter_bytes: kernel.parameter_bytes(),
            workspace: kernel.workspace(),
            static_shared,
            max_threads: kernel.max_threads_per_block(),
            work: time::count(kernel.function()),
            max_dynamic_shared: AtomicU32::new(STATIC_SHARED.saturating_sub(static_shared)),
            c_name: OnceLock::new(),
            prepared: Mutex::default(),
            compiled: Default::default(),
        }
    }

    /// The kernel in its program.
    pub(crate) fn kernel(&self) -> Option<&Kernel> {
        self.module.program.kernel(&self.name)
    }

    /// The name as C wants it, for as long as the function lives.
    pub(crate) fn c_name(&self) -> &CStr {
        // Names in PTX have no NUL.
        self.c_name.get_or_init(|| CString::new(self.name.as_str()).unwrap_or_default())
    }

    /// The block and parameters of the next launch, as the functions of before CUDA 4.0 set them
    /// (`cuParamSetv`, `cuFuncSetBlockShape`).
    pub(crate) fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock()
    }

    /// The kernel's native code, made when first asked for.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_PTX` if the kernel cannot be compiled for this host,
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn code(
        &self,
        level: CheckLevel,
        execution: Execution,
    ) -> Result<Arc<CompiledKernel>, CUresult> {
        let compiled = &self.compiled[execution.index()];
        if let Some(code) = compiled.get() {
            return Ok(Arc::clone(code));
        }
        let kernel = self.kernel().ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let code = stack::with_room(|| kernel.compile(level, execution)).map_err(|error| {
            tracing::error!(%error, "no memory for a stack to compile on");
            CUresult::CUDA_ERROR_OUT_OF_MEMORY
        })?;
        let code = code.map_err(|error| {
            console::internal_error(error);
            CUresult::CUDA_ERROR_INVALID_PTX
        })?;
        Ok(Arc::clone(compiled.get_or_init(|| code)))
    }

    /// Sets how much dynamic shared memory a launch may ask for.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if that is more than a block can have.
    pub(crate) fn set_max_dynamic_shared(&self, bytes: u32) -> Result<(), CUresult> {
        if bytes > STATIC_SHARED_OPTIN.saturating_sub(self.static_shared) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.max_dynamic_shared.store(bytes, Ordering::Relaxed);
        Ok(())
    }
}
