//! Libraries and their kernels, files, the linker, and launches with attributes.

use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Write;
use std::ptr;

use cuda_sys::{
    CUfunction, CUfunction_attribute, CUjit_option, CUjitInputType, CUkernel, CUlaunchAttribute,
    CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUlibrary, CUmodule, CUresult,
};

use crate::sim::{self, DEFAULT, Gpu, KERNELS, assert_holds, cuda, function, launch};
use crate::{fails, ok};

/// Joins with the kernels of the tests.
const DOUBLE: &str = ".version 8.8\n.target sm_75\n.address_size 64\n\
    .visible .entry double_it(.param .u64 pointer) {\n\
    .reg .b64 %rd<3>;\nld.param.u64 %rd1, [pointer];\nld.global.u64 %rd2, [%rd1];\n\
    add.u64 %rd2, %rd2, %rd2;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n\0";

fn load(image: &str) -> CUlibrary {
    let mut library = ptr::null_mut();
    let none = ptr::null_mut();
    let (options, values) = (ptr::null_mut(), ptr::null_mut());
    let image = image.as_ptr().cast();
    ok!(cuLibraryLoadData(&mut library, image, options, none, 0, ptr::null_mut(), values, 0));
    library
}

fn kernel(library: CUlibrary, name: &CStr) -> CUkernel {
    let mut kernel = ptr::null_mut();
    ok!(cuLibraryGetKernel(&mut kernel, library, name.as_ptr()));
    kernel
}

#[test]
fn a_library_needs_no_context_and_becomes_a_module_in_each() {
    sim::start();
    let library = std::thread::spawn(|| load(KERNELS).addr()).join().expect("it loads");
    let library: CUlibrary = ptr::without_provenance_mut(library);
    let store = kernel(library, c"store");
    assert_eq!(store, kernel(library, c"store"));
    for gpu in Gpu::take_several::<2>() {
        let pointer = gpu.allocate(8);
        let mut function = ptr::null_mut();
        ok!(cuKernelGetFunction(&mut function, store));
        assert_eq!(launch(function, [1, 1], DEFAULT, &[pointer, 7]), CUresult::CUDA_SUCCESS);
        assert_holds(pointer, [7_u64]);
        // A kernel will do where something is launched.
        let kernel: CUfunction = store.cast();
        assert_eq!(launch(kernel, [1, 1], DEFAULT, &[pointer, 8]), CUresult::CUDA_SUCCESS);
        assert_holds(pointer, [8_u64]);
        let (mut module, mut address, mut bytes) = (ptr::null_mut(), 0, 0);
        ok!(cuLibraryGetModule(&mut module, library));
        fails!(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module));
        ok!(cuLibraryGetGlobal(&mut address, &mut bytes, library, c"counter".as_ptr()));
        assert_eq!(bytes, 4);
        assert_holds(address, [5_u32]);
    }
    ok!(cuLibraryUnload(library));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&mut ptr::null_mut(), store));
}

/// Host and device share its variable.
const SHARING: &str = ".version 8.8\n.target sm_75\n.address_size 64\n\
    .global .attribute(.managed) .align 8 .u64 shared = 5;\n.global .u64 own = 6;\n\
    .visible .entry bump() {\n\
    .reg .b64 %rd<3>;\nld.global.u64 %rd1, [shared];\nadd.u64 %rd2, %rd1, 1;\n\
    st.global.u64 [shared], %rd2;\nret;\n}\n\0";

#[test]
fn a_managed_variable_is_one_for_the_host_and_all_contexts() {
    sim::start();
    let library = load(SHARING);
    let bump: CUfunction = kernel(library, c"bump").cast();
    let mut addresses = Vec::new();
    let gpus = Gpu::take_several::<2>();
    for gpu in &gpus {
        gpu.enter();
        let (mut address, mut bytes) = (0, 0);
        ok!(cuLibraryGetManaged(&mut address, &mut bytes, library, c"shared".as_ptr()));
        assert_eq!(bytes, 8);
        assert_eq!(launch(bump, [1, 1], DEFAULT, &[]), CUresult::CUDA_SUCCESS);
        ok!(cuCtxSynchronize());
        addresses.push(address);
        let name = c"own".as_ptr();
        fails!(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&mut address, &mut bytes, library, name));
    }
    assert_eq!(addresses[0], addresses[1]);
    let shared: *const u64 = ptr::with_exposed_provenance(addresses[0] as usize);
    // SAFETY: it is the address of a managed variable, which the host may read; nothing runs now.
    assert_eq!(unsafe { shared.read() }, 7);
    ok!(cuLibraryUnload(library));
}

#[test]
fn a_kernel_tells_the_architecture_of_its_text() {
    sim::start();
    let _gpu = Gpu::take();
    let library = load(SHARING);
    let (mut function, mut version) = (ptr::null_mut(), 0);
    ok!(cuKernelGetFunction(&mut function, kernel(library, c"bump")));
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
    ok!(cuFuncGetAttribute(&mut version, attribute, function));
    assert_eq!(version, 75);
    ok!(cuLibraryUnload(library));
}

#[test]
fn kernels_tell_their_names_parameters_and_attributes() {
    sim::start();
    let library = load(KERNELS);
    let parameters = kernel(library, c"parameters");
    let mut name = ptr::null();
    ok!(cuKernelGetName(&mut name, parameters));
    // SAFETY: the kernel is there, and so is its name.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"parameters");
    let mut owner = ptr::null_mut();
    ok!(cuKernelGetLibrary(&mut owner, parameters));
    assert_eq!(owner, library);
    let places = [(0, 1), (8, 8), (16, 2), (20, 4)];
    for (index, expected) in places.into_iter().enumerate() {
        let (mut offset, mut bytes) = (99, 99);
        ok!(cuKernelGetParamInfo(parameters, index, &mut offset, &mut bytes));
        assert_eq!((offset, bytes), expected);
    }
    let (mut offset, none) = (0, ptr::null_mut());
    fails!(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(parameters, 4, &mut offset, none));
    let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let mut value = 0;
    ok!(cuKernelSetAttribute(dynamic, 64 << 10, parameters, 1));
    ok!(cuKernelGetAttribute(&mut value, dynamic, parameters, 1));
    assert_eq!(value, 64 << 10);
    ok!(cuKernelGetAttribute(&mut value, dynamic, parameters, 0));
    assert_eq!(value, 48 << 10);
    fails!(CUDA_ERROR_INVALID_VALUE, cuKernelSetAttribute(dynamic, 65 << 10, parameters, 1));
    fails!(CUDA_ERROR_INVALID_DEVICE, cuKernelSetAttribute(dynamic, 0, parameters, 99));
    ok!(cuLibraryUnload(library));
}

#[test]
fn libraries_and_modules_list_what_is_in_them() {
    let gpu = Gpu::take();
    let (library, module) = (load(KERNELS), gpu.load(KERNELS));
    let entries = KERNELS.matches(".entry ").count();
    let (mut in_library, mut in_module) = (0, 0);
    ok!(cuLibraryGetKernelCount(&mut in_library, library));
    ok!(cuModuleGetFunctionCount(&mut in_module, module));
    assert_eq!((in_library as usize, in_module as usize), (entries, entries));
    let mut kernels = vec![ptr::null_mut(); 2];
    ok!(cuLibraryEnumerateKernels(kernels.as_mut_ptr(), 2, library));
    assert_eq!(kernels[0], kernel(library, c"store"));
    let mut functions = vec![ptr::null_mut(); entries + 1];
    ok!(cuModuleEnumerateFunctions(functions.as_mut_ptr(), entries as u32 + 1, module));
    assert_eq!(functions[0], function(module, c"store"));
    assert!(functions[entries].is_null() && !functions[entries - 1].is_null());
    ok!(cuLibraryUnload(library));
}

#[test]
fn functions_tell_their_names_modules_and_parameters() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let copy = function(module, c"copy");
    let (mut name, mut owner, mut offset, mut bytes) = (ptr::null(), ptr::null_mut(), 0, 0);
    ok!(cuFuncGetName(&mut name, copy));
    // SAFETY: the function is there, and so is its name.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"copy");
    ok!(cuFuncGetModule(&mut owner, copy));
    assert_eq!(owner, module);
    ok!(cuFuncGetParamInfo(copy, 1, &mut offset, &mut bytes));
    assert_eq!((offset, bytes), (8, 8));
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(copy, 2, &mut offset, &mut bytes));
    ok!(cuModuleUnload(module));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName(&mut name, copy));
}

#[test]
fn modules_and_libraries_come_from_files_too() {
    let _gpu = Gpu::take();
    let mut file = tempfile();
    file.0.write_all(DOUBLE.trim_end_matches('\0').as_bytes()).expect("it can be written");
    let path = CString::new(file.1.as_os_str().as_encoded_bytes()).expect("no NUL");
    let mut module = ptr::null_mut();
    ok!(cuModuleLoad(&mut module, path.as_ptr()));
    function(module, c"double_it");
    let mut library = ptr::null_mut();
    let none = ptr::null_mut();
    let (options, values) = (ptr::null_mut(), ptr::null_mut());
    let given = path.as_ptr();
    ok!(cuLibraryLoadFromFile(&mut library, given, options, none, 0, ptr::null_mut(), values, 0));
    kernel(library, c"double_it");
    std::fs::remove_file(&file.1).expect("it is there");
    fails!(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&mut module, path.as_ptr()));
}

/// A file that no other test has.
fn tempfile() -> (std::fs::File, std::path::PathBuf) {
    let path = std::env::temp_dir().join(format!("cuda-sim-{}.ptx", std::process::id()));
    (std::fs::File::create(&path).expect("it can be made"), path)
}

/// A linker with a buffer for errors, which must outlive it.
fn linker(errors: &mut [u8; 256]) -> cuda_sys::CUlinkState {
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_LOG_VERBOSE,
    ];
    // The driver writes to the values for as long as the linker lives.
    let values: &'static mut [*mut c_void; 3] = Box::leak(Box::new([
        errors.as_mut_ptr().cast(),
        ptr::without_provenance_mut(errors.len()),
        ptr::without_provenance_mut(1),
    ]));
    let mut state = ptr::null_mut();
    ok!(cuLinkCreate_v2(3, options.as_mut_ptr(), values.as_mut_ptr(), &mut state));
    state
}

fn add(state: cuda_sys::CUlinkState, kind: CUjitInputType, text: &str) -> CUresult {
    let (data, bytes) = (text.as_ptr().cast_mut().cast(), text.len());
    let (name, none) = (c"text".as_ptr(), ptr::null_mut());
    cuda!(cuLinkAddData_v2(state, kind, data, bytes, name, 0, ptr::null_mut(), none))
}

#[test]
fn linked_texts_are_one_image() {
    let gpu = Gpu::take();
    let state = linker(&mut [0; 256]);
    assert_eq!(add(state, CUjitInputType::CU_JIT_INPUT_PTX, KERNELS), CUresult::CUDA_SUCCESS);
    assert_eq!(add(state, CUjitInputType::CU_JIT_INPUT_PTX, DOUBLE), CUresult::CUDA_SUCCESS);
    let (mut image, mut bytes) = (ptr::null_mut(), 0);
    ok!(cuLinkComplete(state, &mut image, &mut bytes));
    assert!(bytes > 1000);
    let mut module: CUmodule = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, image));
    ok!(cuLinkDestroy(state));
    let pointer = gpu.allocate(8);
    let run = |name, arguments: &[u64]| launch(function(module, name), [1, 1], DEFAULT, arguments);
    assert_eq!(run(c"store", &[pointer, 21]), CUresult::CUDA_SUCCESS);
    assert_eq!(run(c"double_it", &[pointer]), CUresult::CUDA_SUCCESS);
    assert_holds(pointer, [42_u64]);
    fails!(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
}

#[test]
fn what_cannot_be_linked_is_refused_with_a_message() {
    let _gpu = Gpu::take();
    let mut errors = [0; 256];
    let state = linker(&mut errors);
    let broken = ".version 8.0\n.target sm_75\n.address_size 64\nbroken\n";
    let broken = add(state, CUjitInputType::CU_JIT_INPUT_PTX, broken);
    assert_eq!(broken, CUresult::CUDA_ERROR_INVALID_PTX);
    let message = CStr::from_bytes_until_nul(&errors).expect("it ends").to_owned();
    assert!(message.to_string_lossy().contains("line 4"), "{message:?}");
    let truncated = add(state, CUjitInputType::CU_JIT_INPUT_OBJECT, "\x7fELF");
    assert_eq!(truncated, CUresult::CUDA_ERROR_INVALID_IMAGE);
    fails!(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(state, &mut ptr::null_mut(), ptr::null_mut()));
    ok!(cuLinkDestroy(state));
}

fn attribute(id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> CUlaunchAttribute {
    CUlaunchAttribute { id, pad: [0 as c_char; 4], value }
}

fn launch_with(
    function: CUfunction,
    attributes: &mut [CUlaunchAttribute],
    blocks: u32,
    argument: u64,
) -> CUresult {
    let config = CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: DEFAULT,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    };
    let mut parameters = [ptr::from_ref(&argument).cast_mut().cast()];
    cuda!(cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), ptr::null_mut()))
}

#[test]
fn a_launch_takes_attributes_and_refuses_what_devices_lack() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let pointer = gpu.allocate(8);
    sim::upload(pointer, &[5_u64]);
    let event = gpu.event(0);
    let mut zero = CUlaunchAttributeValue { pad: [0; 64] };
    zero.launchCompletionEvent.event = event;
    let done = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    let priority = attribute(
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY,
        CUlaunchAttributeValue { priority: -1 },
    );
    let mut attributes = [attribute(done, zero), priority];
    assert_eq!(launch_with(increment, &mut attributes, 1, pointer), CUresult::CUDA_SUCCESS);
    ok!(cuEventSynchronize(event));
    assert_holds(pointer, [6_u64]);
    let mut wide = CUlaunchAttributeValue { pad: [0; 64] };
    wide.clusterDim.x = 2;
    let cluster = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    assert_eq!(
        launch_with(increment, &mut [attribute(cluster, wide)], 2, pointer),
        CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE
    );
    assert_eq!(
        launch_with(increment, &mut [attribute(CUlaunchAttributeID(99), wide)], 1, pointer),
        CUresult::CUDA_ERROR_INVALID_VALUE
    );
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernelEx(ptr::null(), increment, ptr::null_mut(), ptr::null_mut())
    );
}

#[test]
fn a_cooperative_launch_has_no_more_blocks_than_fit_at_once() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let pointer = gpu.allocate(8);
    let cooperative = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    let mut attributes = [attribute(cooperative, CUlaunchAttributeValue { cooperative: 1 })];
    let mut per_multiprocessor = 0;
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut per_multiprocessor, increment, 1, 0));
    let most = per_multiprocessor as u32 * 40;
    assert_eq!(launch_with(increment, &mut attributes, most, pointer), CUresult::CUDA_SUCCESS);
    let too_large = CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    assert_eq!(launch_with(increment, &mut attributes, most + 1, pointer), too_large);
    let mut parameters = [ptr::from_ref(&pointer).cast_mut().cast()];
    let parameters = parameters.as_mut_ptr();
    ok!(cuLaunchCooperativeKernel(increment, 2, 1, 1, 1, 1, 1, 0, DEFAULT, parameters));
    ok!(cuCtxSynchronize());
}

#[test]
fn occupancy_is_told_with_flags_and_for_shared_memory() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let (mut blocks, mut bytes) = (0, 0);
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut blocks, nothing, 256, 0, 1));
    assert_eq!(blocks, 4);
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut blocks, nothing, 256, 0, 2)
    );
    ok!(cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, 4, 256));
    assert_eq!(bytes, 16 << 10);
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, 5, 256)
    );
}
