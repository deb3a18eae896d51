//! The linker: names that one input uses and another defines.

use std::ffi::{CStr, c_void};
use std::fs;
use std::ptr;

use cuda_sys::{
    CUfunction_attribute, CUjit_option, CUjitInputType, CUlinkState, CUmodule, CUresult,
};

use crate::sim::{
    DEFAULT, Gpu, assert_holds, cuda, fails, function, launch, ok, output_of_child, upload,
};

const PTX: CUjitInputType = CUjitInputType::CU_JIT_INPUT_PTX;

const CALLER: &str = ".version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) add_seven(.param .b32 x);
.visible .entry k(.param .u64 p) {
    .reg .b64 %p;
    .reg .b32 %x;
    ld.param.u64 %p, [p];
    ld.global.u32 %x, [%p];
    {
        .param .b32 in, out;
        st.param.b32 [in], %x;
        call.uni (out), add_seven, (in);
        ld.param.b32 %x, [out];
    }
    st.global.u32 [%p], %x;
    ret;
}
\0";

const CALLEE: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 result) add_seven(.param .b32 x) {
    .reg .b32 %x;
    ld.param.b32 %x, [x];
    add.u32 %x, %x, 7;
    st.param.b32 [result], %x;
    ret;
}
\0";

/// An archive of two objects of nvcc's, of which one has `add_seven` (`callee.cu`):
/// `nvcc -rdc=true -gencode arch=compute_75,code=compute_75 -c`, and of each object only the section
/// `__nv_relfatbin`.
const ARCHIVE: &[u8] = include_bytes!("../fatbin/callee.a");

/// A linker, with a buffer for errors that it writes to.
struct Linker {
    state: CUlinkState,
    errors: &'static [u8; 512],
}

impl Linker {
    fn new() -> Linker {
        Linker::with_max_registers(0)
    }

    /// A linker whose kernels have so many registers at most; 0 is no limit.
    fn with_max_registers(registers: usize) -> Linker {
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_MAX_REGISTERS,
        ];
        // The driver writes to both for as long as the linker lives.
        let errors: &'static mut [u8; 512] = Box::leak(Box::new([0; 512]));
        let place = errors.as_mut_ptr();
        let [bytes, registers] = [512, registers].map(ptr::without_provenance_mut);
        let values: &'static mut [*mut c_void; 3] =
            Box::leak(Box::new([place.cast(), bytes, registers]));
        let mut state = ptr::null_mut();
        ok!(cuLinkCreate_v2(3, options.as_mut_ptr(), values.as_mut_ptr(), &mut state));
        // SAFETY: it is the buffer, which the driver writes to in calls only.
        Linker { state, errors: unsafe { &*place.cast_const().cast() } }
    }

    fn add(&self, kind: CUjitInputType, name: &CStr, data: &[u8]) -> CUresult {
        let (start, bytes) = (data.as_ptr().cast_mut().cast(), data.len());
        let (options, values) = (ptr::null_mut(), ptr::null_mut());
        cuda!(cuLinkAddData_v2(self.state, kind, start, bytes, name.as_ptr(), 0, options, values))
    }

    /// Adds what can be linked.
    #[track_caller]
    fn takes(&self, kind: CUjitInputType, name: &CStr, data: &[u8]) {
        self.add(kind, name, data).ok().expect("it can be linked");
    }

    fn complete(&self) -> Result<CUmodule, CUresult> {
        let (mut image, mut bytes) = (ptr::null_mut(), 0);
        cuda!(cuLinkComplete(self.state, &mut image, &mut bytes)).ok()?;
        let mut module = ptr::null_mut();
        cuda!(cuModuleLoadData(&mut module, image)).ok()?;
        ok!(cuLinkDestroy(self.state));
        Ok(module)
    }

    fn message(&self) -> String {
        let message = CStr::from_bytes_until_nul(self.errors).expect("it ends");
        message.to_string_lossy().into_owned()
    }
}

#[track_caller]
fn assert_adds_seven(gpu: &Gpu, linker: &Linker) {
    let module = linker.complete().unwrap_or_else(|error| panic!("{error}: {}", linker.message()));
    let pointer = gpu.allocate(4);
    upload(pointer, &[1_u32]);
    launch(function(module, c"k"), [1, 1], DEFAULT, &[pointer]).ok().expect("it is enqueued");
    assert_holds(pointer, [8_u32]);
}

#[test]
fn a_function_is_found_in_another_input_in_either_order() {
    let gpu = Gpu::take();
    for texts in [[CALLER, CALLEE], [CALLEE, CALLER]] {
        let linker = Linker::new();
        for text in texts {
            linker.takes(PTX, c"text", text.as_bytes());
        }
        assert_adds_seven(&gpu, &linker);
    }
}

#[test]
fn a_limit_to_registers_holds_for_what_is_linked() {
    let _gpu = Gpu::take();
    let registers = |limit| {
        let linker = Linker::with_max_registers(limit);
        linker.takes(PTX, c"caller", CALLER.as_bytes());
        linker.takes(PTX, c"callee", CALLEE.as_bytes());
        let module = linker.complete().expect("it can be linked");
        let mut registers = -1;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        ok!(cuFuncGetAttribute(&mut registers, attribute, function(module, c"k")));
        registers
    };
    let unlimited = registers(0);
    assert!(unlimited > 6, "{unlimited}");
    assert_eq!(registers(6), 6);
    assert_eq!(registers(255), unlimited);
}

#[test]
fn a_function_is_found_in_an_archive_of_the_hosts_objects() {
    let gpu = Gpu::take();
    let linker = Linker::new();
    linker.takes(PTX, c"caller", CALLER.as_bytes());
    let library = CUjitInputType::CU_JIT_INPUT_LIBRARY;
    linker.takes(library, c"callee.a", ARCHIVE);
    assert_adds_seven(&gpu, &linker);
}

#[test]
fn a_function_is_found_in_an_object_of_the_host_in_a_file() {
    let gpu = Gpu::take();
    let linker = Linker::new();
    linker.takes(PTX, c"caller", CALLER.as_bytes());
    // The second member of the archive is an object.
    let start = ARCHIVE.windows(4).rposition(|bytes| bytes == b"\x7fELF").expect("an object");
    let path = std::env::temp_dir().join(format!("cuda-sim-{}-callee.o", std::process::id()));
    fs::write(&path, &ARCHIVE[start..]).expect("it can be written");
    let name = std::ffi::CString::new(path.to_str().expect("a text")).expect("no NUL");
    let object = CUjitInputType::CU_JIT_INPUT_OBJECT;
    let (options, values) = (ptr::null_mut(), ptr::null_mut());
    ok!(cuLinkAddFile_v2(linker.state, object, name.as_ptr(), 0, options, values));
    fs::remove_file(&path).expect("it was there");
    assert_adds_seven(&gpu, &linker);
}

#[test]
fn what_was_linked_can_be_linked_again_as_if_it_were_machine_code() {
    let gpu = Gpu::take();
    let first = Linker::new();
    first.takes(PTX, c"callee", CALLEE.as_bytes());
    let (mut image, mut bytes) = (ptr::null_mut(), 0);
    ok!(cuLinkComplete(first.state, &mut image, &mut bytes));
    // SAFETY: the linker says that the image is there, and as long.
    let image = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) };
    let second = Linker::new();
    let cubin = CUjitInputType::CU_JIT_INPUT_CUBIN;
    second.takes(cubin, c"linked", image);
    second.takes(PTX, c"caller", CALLER.as_bytes());
    assert_adds_seven(&gpu, &second);
    ok!(cuLinkDestroy(first.state));
}

#[test]
fn a_name_that_nothing_defines_is_named() {
    let _gpu = Gpu::take();
    let linker = Linker::new();
    linker.takes(PTX, c"caller.ptx", CALLER.as_bytes());
    assert_eq!(linker.complete(), Err(CUresult::CUDA_ERROR_INVALID_SOURCE));
    assert_eq!(linker.message(), "undefined reference to `add_seven` in `caller.ptx`");
    ok!(cuLinkDestroy(linker.state));
}

#[test]
fn a_second_definition_is_refused_when_it_is_added() {
    let _gpu = Gpu::take();
    let linker = Linker::new();
    linker.takes(PTX, c"one", CALLEE.as_bytes());
    let again = linker.add(PTX, c"two", CALLEE.as_bytes());
    assert_eq!(again, CUresult::CUDA_ERROR_INVALID_SOURCE);
    let message = "multiple definition of `add_seven` in `two`, first defined in `one`";
    assert_eq!(linker.message(), message);
    assert!(linker.complete().is_ok(), "the first one is still there");
}

#[test]
fn a_module_by_itself_must_define_what_it_uses() {
    let output = output_of_child(&[("CUDA_SIM_LOG", "1")], || {
        let _gpu = Gpu::take();
        let mut module = ptr::null_mut();
        fails!(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&mut module, CALLER.as_ptr().cast()));
    });
    let Some([_, errors]) = output else { return };
    assert!(errors.contains("undefined reference to `add_seven`"), "{errors}");
}

/// A kernel that counts its blocks, waits for all of them, and writes what each then sees, its rank,
/// and the size of the grid.
const GRID: &str = ".version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 result) cudaCGGetSize(
    .param .b64 threads, .param .b64 grids, .param .b64 handle);
.extern .func (.param .b32 result) cudaCGGetRank(
    .param .b64 rank, .param .b64 grid, .param .b64 handle);
.visible .entry grid(.param .u64 count, .param .u64 out) {
    .reg .b64 %count, %out, %handle, %place;
    .reg .b32 %x, %seen, %rank, %round;
    .reg .pred %again;
    .local .align 4 .b8 rank[4];
    .local .align 4 .b8 size[4];
    ld.param.u64 %count, [count];
    ld.param.u64 %out, [out];
    {
        .param .b32 scope;
        .param .b64 handle;
        st.param.b32 [scope], 1;
        call.uni (handle), cudaCGGetIntrinsicHandle, (scope);
        ld.param.b64 %handle, [handle];
    }
    mov.u32 %round, 0;
again:
    atom.global.add.u32 %x, [%count], 1;
    {
        .param .b64 handle;
        .param .b32 flags, error;
        st.param.b64 [handle], %handle;
        st.param.b32 [flags], 0;
        call.uni (error), cudaCGSynchronize, (handle, flags);
        ld.param.b32 %x, [error];
    }
    ld.volatile.global.u32 %seen, [%count];
    add.u32 %seen, %seen, %x;
    {
        .param .b64 handle;
        .param .b32 flags, error;
        st.param.b64 [handle], %handle;
        st.param.b32 [flags], 0;
        call.uni (error), cudaCGSynchronize, (handle, flags);
        ld.param.b32 %x, [error];
    }
    add.u32 %round, %round, 1;
    setp.lt.u32 %again, %round, 3;
    @%again bra again;
    {
        .param .b64 rank_at, grid, handle;
        .param .b32 error;
        mov.u64 %place, rank;
        cvta.local.u64 %place, %place;
        st.param.b64 [rank_at], %place;
        st.param.b64 [grid], 0;
        st.param.b64 [handle], %handle;
        call.uni (error), cudaCGGetRank, (rank_at, grid, handle);
        ld.local.u32 %rank, [rank];
    }
    {
        .param .b64 size_at, grids, handle;
        .param .b32 error;
        mov.u64 %place, size;
        cvta.local.u64 %place, %place;
        st.param.b64 [size_at], %place;
        st.param.b64 [grids], 0;
        st.param.b64 [handle], %handle;
        call.uni (error), cudaCGGetSize, (size_at, grids, handle);
        ld.local.u32 %x, [size];
    }
    mul.wide.u32 %place, %rank, 8;
    add.u64 %out, %out, %place;
    st.global.v2.u32 [%out], {%seen, %x};
    ret;
}
\0";

#[test]
fn the_device_runtimes_grid_barrier_is_there_without_a_library() {
    let gpu = Gpu::take();
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, GRID.as_ptr().cast()));
    let (count, out) = (gpu.allocate(4), gpu.allocate(4 * 64 * 8));
    ok!(cuMemsetD8_v2(count, 0, 4));
    let arguments = [count, out];
    let mut pointers = arguments.each_ref().map(|at| ptr::from_ref(at).cast_mut().cast());
    let (grid, argv) = (function(module, c"grid"), pointers.as_mut_ptr());
    ok!(cuLaunchCooperativeKernel(grid, 4, 1, 1, 64, 1, 1, 0, DEFAULT, argv));
    // What a thread has seen in the lower half, the size in the upper one.
    assert_holds(out, [(256 << 32) + 3 * 256_u64; 4 * 64]);
}

#[test]
fn the_handle_of_a_grid_is_null_where_blocks_need_not_run_together() {
    let gpu = Gpu::take();
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, GRID.as_ptr().cast()));
    let (count, out) = (gpu.allocate(4), gpu.allocate(8));
    ok!(cuMemsetD8_v2(count, 0, 4));
    launch(function(module, c"grid"), [1, 1], DEFAULT, &[count, out]).ok().expect("it runs");
    // Each barrier answers cudaErrorInvalidValue, which is 1.
    assert_holds(out, [3 + 1, 1_u32]);
}
