//! NVTX from the program's side.
//!
//! Since its third version NVTX is no library but an agreement: a tool that looks at a process puts
//! the path of a library into the environment; whoever has ranges to tell of loads it, hands it
//! tables of functions, and calls those that it filled in. CUDA 13 has no other NVTX any more.

use std::env;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

/// The environment variable in which a tool names the library to load.
#[cfg(target_pointer_width = "64")]
const PATH: &str = "NVTX_INJECTION64_PATH";
#[cfg(target_pointer_width = "32")]
const PATH: &str = "NVTX_INJECTION32_PATH";

/// The function of such a library that is called first.
const INITIALIZE: &[u8] = b"InitializeInjectionNvtx2\0";

/// The table of callbacks and that of the version, by their numbers.
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;

/// The number of functions of each module of NVTX, the unused number 0 counted in.
const MODULES: [usize; 7] = [0, 16, 9, 16, 7, 16, 7];
/// The module with the functions that are called here.
const CORE: usize = 1;
const RANGE_PUSH: usize = 9;
const RANGE_POP: usize = 11;

type Initialize = unsafe extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// A function that a tool may fill in.
type FunctionSlot = AtomicPtr<c_void>;

static SLOTS: [[FunctionSlot; 16]; 7] = [const { [const { AtomicPtr::new(null_mut()) }; 16] }; 7];

/// For each module what a tool is told of it: where the slots are, by the numbers of the functions.
/// There is none of the number 0, and none behind the last, where the array ends for the tool.
static TABLES: [[Option<&FunctionSlot>; 17]; 7] = tables();

const fn tables() -> [[Option<&'static FunctionSlot>; 17]; 7] {
    let mut tables = [[None; 17]; 7];
    let mut module = 0;
    while module < MODULES.len() {
        let mut function = 1;
        while function < MODULES[module] {
            tables[module][function] = Some(&SLOTS[module][function]);
            function += 1;
        }
        module += 1;
    }
    tables
}

/// The functions that a tool has filled in.
#[derive(Debug)]
pub(super) struct Tool {
    push: Push,
    pop: Pop,
}

/// The tool that looks at this process, if there is one. The first call loads its library.
#[inline]
pub(super) fn tool() -> Option<&'static Tool> {
    static TOOL: OnceLock<Option<Tool>> = OnceLock::new();
    TOOL.get_or_init(|| env::var_os(PATH).and_then(|path| load(&path))).as_ref()
}

impl Tool {
    /// Begins a range of the calling thread. A name ends where it has a NUL.
    pub(super) fn push(&self, name: &str) {
        let name = name.split('\0').next().unwrap_or_default();
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the tool filled in a function of this type, which copies what it needs.
        unsafe { (self.push)(name.as_ptr()) };
    }

    /// Ends the calling thread's newest range.
    pub(super) fn pop(&self) {
        // SAFETY: the tool filled in a function of this type.
        unsafe { (self.pop)() };
    }
}

#[cold]
fn load(path: &std::ffi::OsStr) -> Option<Tool> {
    // SAFETY: who set the variable wants this library's code to run in the process.
    let library = unsafe { Library::new(path) }
        .inspect_err(|error| tracing::warn!(%error, "the library in {PATH} cannot be loaded"))
        .ok()?;
    // SAFETY: NVTX gives the function of this name this type.
    let initialize = unsafe { library.get::<Initialize>(INITIALIZE) }
        .inspect_err(|error| tracing::warn!(%error, "the library in {PATH} is not one of NVTX"))
        .ok()?;
    let tool = connect(*initialize);
    // What it filled in is called until the process ends.
    mem::forget(library);
    tool
}

/// Lets a tool fill in the tables.
fn connect(initialize: Initialize) -> Option<Tool> {
    // SAFETY: the function is a tool's, and is handed what NVTX hands it.
    if unsafe { initialize(export_table) } == 0 {
        return None;
    }
    let filled = |number: usize| {
        let function = SLOTS[CORE][number].load(Ordering::Acquire);
        (!function.is_null()).then_some(function)
    };
    let (push, pop) = (filled(RANGE_PUSH)?, filled(RANGE_POP)?);
    // SAFETY: by NVTX, what a tool writes into this slot is a function of this type.
    let push = unsafe { mem::transmute::<*mut c_void, Push>(push) };
    // SAFETY: by NVTX, what a tool writes into this slot is a function without arguments.
    let pop = unsafe { mem::transmute::<*mut c_void, Pop>(pop) };
    Some(Tool { push, pop })
}

/// The table that a tool asks for first.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    function_table: unsafe extern "C" fn(
        module: c_int,
        table: *mut *mut *mut FunctionSlot,
        size: *mut c_uint,
    ) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    bytes: usize,
    version: u32,
    reserved: u32,
    set_version_of_tool: extern "C" fn(u32),
}

extern "C" fn export_table(number: u32) -> *const c_void {
    static CALLBACKS_TABLE: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), function_table };
    static VERSION_TABLE: VersionInfo = VersionInfo {
        bytes: size_of::<VersionInfo>(),
        version: 3,
        reserved: 0,
        set_version_of_tool,
    };
    match number {
        CALLBACKS => (&raw const CALLBACKS_TABLE).cast(),
        VERSION_INFO => (&raw const VERSION_TABLE).cast(),
        _ => null(),
    }
}

extern "C" fn set_version_of_tool(_version: u32) {}

/// Tells where a module's functions are to be filled in: an array of addresses of slots.
///
/// # Safety
/// Both pointers are writable, or null.
unsafe extern "C" fn function_table(
    module: c_int,
    table: *mut *mut *mut FunctionSlot,
    size: *mut c_uint,
) -> c_int {
    let number = usize::try_from(module).unwrap_or(0);
    let Some(&functions) = MODULES.get(number).filter(|functions| **functions > 0) else {
        return 0;
    };
    if !table.is_null() {
        // A tool writes to the slots, and only reads where they are.
        let slots = (&raw const TABLES[number]).cast_mut().cast::<*mut FunctionSlot>();
        // SAFETY: it is not null, and writable then.
        unsafe { table.write(slots) };
    }
    if !size.is_null() {
        // SAFETY: it is not null, and writable then.
        unsafe { size.write(functions as c_uint) };
    }
    1
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::sync::Mutex;

    use super::*;

    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    unsafe extern "C" fn hear_push(name: *const c_char) -> c_int {
        // SAFETY: it is called with strings only.
        let name = unsafe { CStr::from_ptr(name) };
        HEARD.lock().expect("no panic").push(name.to_string_lossy().into_owned());
        0
    }

    extern "C" fn hear_pop() -> c_int {
        HEARD.lock().expect("no panic").push("pop".to_owned());
        0
    }

    /// Stands for the first function of a tool's library.
    unsafe extern "C" fn attach(export: extern "C" fn(u32) -> *const c_void) -> c_int {
        let (callbacks, version) = (export(CALLBACKS), export(VERSION_INFO));
        assert!(!version.is_null() && export(2).is_null());
        // SAFETY: this is the table of that number.
        let callbacks = unsafe { &*callbacks.cast::<Callbacks>() };
        assert_eq!(callbacks.bytes, 16);
        for (module, functions) in MODULES.into_iter().enumerate() {
            let (mut table, mut size) = (null_mut(), 0);
            // SAFETY: both are writable.
            let told =
                unsafe { (callbacks.function_table)(module as c_int, &mut table, &mut size) };
            assert_eq!((told == 1, size as usize), (functions > 0, functions));
            if module == CORE {
                // SAFETY: the table has that many entries, each the address of a slot.
                unsafe {
                    (**table.add(RANGE_PUSH)).store(hear_push as *mut c_void, Ordering::Release);
                    (**table.add(RANGE_POP)).store(hear_pop as *mut c_void, Ordering::Release);
                }
            }
        }
        1
    }

    unsafe extern "C" fn refuse(_: extern "C" fn(u32) -> *const c_void) -> c_int {
        0
    }

    #[test]
    fn a_tool_hears_of_ranges_by_the_functions_that_it_filled_in() {
        assert!(connect(refuse).is_none());
        let tool = connect(attach).expect("it filled in both");
        tool.push("a step");
        tool.push("cut\0off");
        tool.pop();
        tool.pop();
        assert_eq!(*HEARD.lock().expect("no panic"), ["a step", "cut", "pop", "pop"]);
    }
}
