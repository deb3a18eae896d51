//! The library in a program that opens it late, and faults where nobody may allocate memory.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread;

use cuda_sys::{CUresult, Driver};
use libc::{SA_SIGINFO, SIGSEGV, siginfo_t};

const PAGE: usize = 4096;

const KERNEL: &CStr = c"
.version 6.3
.target sm_75
.address_size 64
.visible .entry nothing()
{
    ret;
}
";

/// The number of the thread that must not allocate, and how often it did.
static FAULTING: AtomicI32 = AtomicI32::new(0);
static ALLOCATIONS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Whether the thread's fault came to the program's own handler.
    static HANDLED: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
}

fn allocating() {
    // SAFETY: it asks for a number.
    if unsafe { libc::gettid() } == FAULTING.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stands before the C library's, for the whole process.
// SAFETY: it does what the C library's function of the name does.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    allocating();
    // SAFETY: it takes any size.
    unsafe { __libc_malloc(bytes) }
}

/// Stands before the C library's, for the whole process.
// SAFETY: it does what the C library's function of the name does.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    allocating();
    // SAFETY: it takes any sizes.
    unsafe { __libc_calloc(count, bytes) }
}

/// The driver, opened at run time as programs do that are made for NVIDIA's.
fn open() -> Driver {
    let mut path: PathBuf = std::env::current_exe().expect("this test");
    path.set_file_name("libcuda_software.so");
    // SAFETY: loading it runs no code but that of the Rust library.
    let library = unsafe { libloading::Library::new(&path) }.expect("the library is beside it");
    let library = Box::leak(Box::new(library));
    // SAFETY: the library exports functions as cuda.h declares them, and is never unloaded.
    let driver = unsafe {
        Driver::from_symbols(|name| {
            let symbol = library.get::<*mut c_void>(name.to_bytes_with_nul()).ok()?;
            NonNull::new(symbol.try_as_raw_ptr()?)
        })
    };
    driver.unwrap_or_else(|missing| panic!("{missing}"))
}

/// Runs a kernel, so that the driver takes part in page faults.
fn run_kernel(driver: &Driver) {
    let (mut context, mut module, mut function) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: what is pointed to lives until the calls are done.
    let results = unsafe {
        [
            (driver.cuInit)(0),
            (driver.cuDevicePrimaryCtxRetain)(&mut context, 0),
            (driver.cuCtxSetCurrent)(context),
            (driver.cuModuleLoadData)(&mut module, KERNEL.as_ptr().cast()),
            (driver.cuModuleGetFunction)(&mut function, module, c"nothing".as_ptr()),
            (driver.cuLaunchKernel)(
                function,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            ),
            (driver.cuCtxSynchronize)(),
        ]
    };
    assert_eq!(results, [CUresult::CUDA_SUCCESS; 7]);
}

/// Opens the page that was touched.
extern "C" fn open_page(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    HANDLED.set(true);
    // SAFETY: the system passes a valid `siginfo_t`, and the page is the test's.
    unsafe {
        let page = (*info).si_addr().map_addr(|address| address & !(PAGE - 1));
        libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
    }
}

#[test]
fn a_fault_of_a_thread_that_never_used_the_driver_allocates_nothing_on_its_way() {
    // SAFETY: the handler has the type that the flag says.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction =
            open_page as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
        action.sa_flags = SA_SIGINFO;
        assert_eq!(libc::sigaction(SIGSEGV, &action, ptr::null_mut()), 0);
    }
    let driver = open();
    run_kernel(&driver);
    let stranger = thread::spawn(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the page is new, and the handler opens it.
        unsafe {
            let page = libc::mmap(ptr::null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0);
            FAULTING.store(libc::gettid(), Ordering::Relaxed);
            page.cast::<u8>().write_volatile(1);
            FAULTING.store(0, Ordering::Relaxed);
        }
        HANDLED.get()
    });
    assert!(stranger.join().expect("the fault is handled"));
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), 0);
    // The counter is not blind.
    // SAFETY: it asks for a number.
    FAULTING.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(7_u64)));
    assert_ne!(ALLOCATIONS.load(Ordering::Relaxed), 0);
}
