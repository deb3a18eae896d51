//! Faults of a program that only has the library, as it is told of them.

use std::env;
use std::ffi::{CStr, c_void};
use std::process::Command;
use std::ptr::{self, NonNull};

use cuda_sys::{CUresult, Driver};

const KERNEL: &CStr = c"
.version 6.3
.target sm_75
.address_size 64
.visible .entry past_the_end(.param .u64 out)
{
    .reg .b32 %tid;
    .reg .b64 %out, %at;
    ld.param.u64 %out, [out];
    mov.u32 %tid, %tid.x;
    mul.wide.u32 %at, %tid, 4;
    add.u64 %at, %at, %out;
    st.global.u32 [%at], %tid;
    ret;
}
";

/// Says that the process is the child of a test.
const CHILD: &str = "SLUICE_ISOLATED_TEST";

/// The driver, opened at run time as programs do that are made for NVIDIA's.
fn open() -> Driver {
    let mut path = env::current_exe().expect("this test");
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

/// Writes 32 numbers to memory for 25.
fn write_past_the_end() {
    let driver = open();
    let (mut context, mut module, mut function) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let (mut memory, stream) = (0_u64, ptr::null_mut());
    let mut arguments: [*mut c_void; 1] = [(&raw mut memory).cast()];
    let arguments = arguments.as_mut_ptr();
    // SAFETY: what is pointed to lives until the calls are done.
    let results = unsafe {
        [
            (driver.cuInit)(0),
            (driver.cuDevicePrimaryCtxRetain)(&mut context, 0),
            (driver.cuCtxSetCurrent)(context),
            (driver.cuModuleLoadData)(&mut module, KERNEL.as_ptr().cast()),
            (driver.cuModuleGetFunction)(&mut function, module, c"past_the_end".as_ptr()),
            (driver.cuMemAlloc_v2)(&mut memory, 100),
            (driver.cuLaunchKernel)(
                function,
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                stream,
                arguments,
                ptr::null_mut(),
            ),
        ]
    };
    assert_eq!(results, [CUresult::CUDA_SUCCESS; 7]);
    // SAFETY: it takes nothing.
    let end = unsafe { (driver.cuCtxSynchronize)() };
    assert_eq!(end, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
}

#[test]
fn a_program_that_has_only_the_library_is_told_of_its_fault_whole() {
    const NAME: &str = "a_program_that_has_only_the_library_is_told_of_its_fault_whole";
    if env::var_os(CHILD).is_some_and(|name| name == NAME) {
        return write_past_the_end();
    }
    let child = env::current_exe().expect("this test");
    let output = Command::new(child)
        .args([NAME, "--exact", "--nocapture"])
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env(CHILD, NAME)
        .env("CUDA_SIM_CHECK", "1")
        .env("CUDA_SIM_EXIT_STATUS", "7")
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    for part in [
        "cuda-sim: access out of bounds",
        "write by kernel `past_the_end`, block [0, 0, 0], thread [25, 0, 0], PTX line 13",
        "enqueued by cuLaunchKernel",
        "4 bytes at 0x",
        "0 bytes after the end of allocation",
        "made by cuMemAlloc_v2",
        "write_past_the_end at ./tests/reports.rs",
        "cuda-sim: checks found 1 fault at 1 place",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(output.status.code(), Some(7), "{text}");
}
