//! Modules: loading, functions, variables.

use std::ffi::{CString, c_void};
use std::fs;
use std::ptr;

use cuda_sys::{CUfunction_attribute, CUjit_option, CUmodule, CUresult};

use crate::sim::{DEFAULT, Gpu, KERNELS, assert_holds, download, function, launch};
use crate::{fails, ok};

#[test]
fn a_module_gives_its_functions_and_variables_by_name() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let store = function(module, c"store");
    assert_eq!(store, function(module, c"store"));
    assert_ne!(store, function(module, c"copy"));
    let mut none = ptr::null_mut();
    fails!(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&mut none, module, c"stor".as_ptr()));
    fails!(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&mut none, module, ptr::null()));
    let (mut address, mut bytes) = (0, 0);
    ok!(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"table".as_ptr()));
    assert_eq!(bytes, 16);
    assert_holds(address, [10_u32, 11, 12, 13]);
    ok!(cuModuleGetGlobal_v2(&mut address, ptr::null_mut(), module, c"counter".as_ptr()));
    assert_holds(address, [5_u32]);
    fails!(
        CUDA_ERROR_NOT_FOUND,
        cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"store".as_ptr())
    );
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
}

#[test]
fn modules_that_nvcc_made_load_and_give_all_their_functions() {
    let _gpu = Gpu::take();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/tests/ptx");
    let files = fs::read_dir(folder).expect("the folder is there").map(|file| file.unwrap().path());
    let mut functions = 0;
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx")) {
        let text = fs::read_to_string(&path).expect("a text");
        let names = text.split(".entry ").skip(1).map(|rest| rest.split('(').next().unwrap());
        let names: Vec<_> = names.map(|name| CString::new(name.trim()).unwrap()).collect();
        let image = CString::new(text).expect("no NUL within");
        let mut module = ptr::null_mut();
        ok!(cuModuleLoadData(&mut module, image.as_ptr().cast()));
        for name in names {
            function(module, &name);
            functions += 1;
        }
        ok!(cuModuleUnload(module));
    }
    assert!(functions > 0);
}

#[test]
fn each_load_of_a_module_has_variables_of_its_own() {
    let gpu = Gpu::take();
    let out = gpu.allocate(4);
    let [one, two] = [gpu.load(KERNELS), gpu.load(KERNELS)];
    let counter = |module| {
        let mut address = 0;
        ok!(cuModuleGetGlobal_v2(&mut address, ptr::null_mut(), module, c"counter".as_ptr()));
        download::<u32, 1>(address)
    };
    for index in 0..3 {
        let variables = function(one, c"variables");
        launch(variables, [1, 1], DEFAULT, &[out, index]).ok().expect("it is enqueued");
        assert_holds(out, [10 + index as u32]);
    }
    assert_eq!((counter(one), counter(two)), ([8], [5]));
}

#[test]
fn unloading_a_module_ends_its_functions() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let store = function(module, c"store");
    ok!(cuModuleUnload(module));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    let pointer = gpu.allocate(8);
    let result = launch(store, [1, 1], DEFAULT, &[pointer, 1]);
    assert_eq!(result, cuda_sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn text_that_is_no_module_is_an_error_whose_log_says_where() {
    let _gpu = Gpu::take();
    let source = c".version 6.3\n.target sm_75\n.address_size 64\nnonsense\n";
    let mut module = ptr::null_mut();
    let image = source.as_ptr().cast();
    fails!(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&mut module, image));
    let mut log = [1_u8; 200];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_OPTIMIZATION_LEVEL,
    ];
    let size: *mut c_void = ptr::without_provenance_mut(log.len());
    let level = ptr::without_provenance_mut(3);
    let mut values = [log.as_mut_ptr().cast(), size, level];
    fails!(
        CUDA_ERROR_INVALID_PTX,
        cuModuleLoadDataEx(&mut module, image, 3, options.as_mut_ptr(), values.as_mut_ptr())
    );
    let length = values[1].addr();
    let log = str::from_utf8(&log[..length]).expect("a text");
    assert!(log.contains("line 4") && log.contains("nonsense"), "{log}");
    assert!(module.is_null());
}

#[test]
fn machine_code_and_null_are_no_modules() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    let elf = b"\x7fELF\x02\x01\x01\0";
    fails!(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mut module, elf.as_ptr().cast()));
    fails!(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&mut module, c"\xff\xfe".as_ptr().cast()));
    fails!(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&mut module, ptr::null()));
    let image = KERNELS.as_ptr().cast();
    fails!(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(ptr::null_mut(), image));
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuModuleLoadDataEx(&mut module, image, 1, ptr::null_mut(), ptr::null_mut())
    );
    let wild: CUmodule = ptr::without_provenance_mut(0xdead_beef_0000);
    fails!(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(wild));
}

#[test]
fn functions_have_attributes_and_occupancy() {
    let gpu = Gpu::take();
    let function = function(gpu.load(KERNELS), c"blocks");
    let get = |attribute| {
        let mut value = -1;
        ok!(cuFuncGetAttribute(&mut value, attribute, function));
        value
    };
    assert_eq!(get(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(get(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_eq!(get(dynamic), 48 << 10);
    ok!(cuFuncSetAttribute(function, dynamic, 64 << 10));
    assert_eq!(get(dynamic), 64 << 10);
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(function, dynamic, (64 << 10) + 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(function, dynamic, -1));
    let mut blocks = 0;
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 256, 0));
    assert_eq!(blocks, 4);
    ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 256, 32 << 10));
    assert_eq!(blocks, 2);
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 0, 0)
    );
    let (mut grid, mut block) = (0, 0);
    ok!(cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, None, 0, 0));
    assert_eq!((grid, block), (40, 1024));
}

macro_rules! fatbin {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fatbin/", $name)).as_slice()
    };
}

/// What `architecture` of the module in a fat binary writes: 750 for compute_75, 800 for compute_80.
fn architecture(gpu: &Gpu, image: *const c_void) -> [u32; 1] {
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, image));
    let out = gpu.allocate(4);
    let architecture = function(module, c"architecture");
    launch(architecture, [1, 1], DEFAULT, &[out]).ok().expect("it is enqueued");
    download(out)
}

#[test]
fn the_ptx_of_a_fat_binary_that_suits_the_device_is_loaded() {
    let gpu = Gpu::take();
    // Those with PTX for compute capability 7.5, 8.0 and 9.0; the last has 7.5's only, beside a cubin.
    let containers = [
        (fatbin!("none.fatbin"), [800]),
        (fatbin!("speed.fatbin"), [800]),
        (fatbin!("size.fatbin"), [800]),
        (fatbin!("balance.fatbin"), [800]),
        (fatbin!("both.fatbin"), [750]),
    ];
    for (container, expected) in containers {
        assert_eq!(architecture(&gpu, container.as_ptr().cast()), expected);
        // As programs refer to it that nvcc made.
        let wrapper = [0x1_4662_43b1, container.as_ptr().addr() as u64, 0];
        assert_eq!(architecture(&gpu, wrapper.as_ptr().cast()), expected);
    }
}

#[test]
fn fat_binaries_without_ptx_for_the_device_and_broken_ones_are_told_apart() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    let changed = |at: usize, byte: u8| {
        let mut container = fatbin!("both.fatbin").to_vec();
        container[at] = byte;
        container
    };
    // The kind and the architecture of the entry of PTX; the size of its header.
    for (at, byte) in [(16, 2), (16 + 28, 90)] {
        let container = changed(at, byte);
        let image = container.as_ptr().cast();
        fails!(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mut module, image));
    }
    for (at, byte) in [(4, 9), (6, 0), (16 + 4, 8), (16 + 16, 255), (16 + 80 + 20, 0)] {
        let container = changed(at, byte);
        let image = container.as_ptr().cast();
        fails!(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&mut module, image));
    }
    let nowhere = [0x1_4662_43b1_u64, 0, 0];
    fails!(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&mut module, nowhere.as_ptr().cast()));
}

#[test]
fn ptx_for_newer_devices_is_refused() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    let newer = c".version 8.0\n.target sm_90\n.address_size 64\n";
    fails!(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&mut module, newer.as_ptr().cast()));
}

#[test]
fn ptx_of_a_newer_language_is_refused_only_where_it_has_something_new() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    let known = c".version 42.0\n.target sm_75\n.address_size 64\n.entry k() { ret; }";
    ok!(cuModuleLoadData(&mut module, known.as_ptr().cast()));
    ok!(cuModuleUnload(module));
    let new = c".version 42.0\n.target sm_75\n.address_size 64\n.entry k() { answer; }";
    fails!(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&mut module, new.as_ptr().cast()));
    let old = c".version 8.0\n.target sm_75\n.address_size 64\n.entry k() { answer; }";
    fails!(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&mut module, old.as_ptr().cast()));
}

/// A kernel with constants and a largest block, and one that keeps more values at once.
const ATTRIBUTES: &str = ".version 8.0
.target sm_75
.address_size 64
.const .align 4 .b8 table[256];
.visible .entry bounded(.param .u64 out) .maxntid 128, 1, 1 {
    .reg .b64 %out;
    .reg .b32 %x;
    ld.param.u64 %out, [out];
    ld.const.u32 %x, [table];
    st.global.u32 [%out], %x;
    ret;
}
.visible .entry wide(.param .u64 out) {
    .reg .b64 %out;
    .reg .b32 %a<9>;
    ld.param.u64 %out, [out];
    ld.global.u32 %a1, [%out];
    ld.global.u32 %a2, [%out+4];
    ld.global.u32 %a3, [%out+8];
    ld.global.u32 %a4, [%out+12];
    st.global.u32 [%out+12], %a1;
    st.global.u32 [%out+8], %a2;
    st.global.u32 [%out+4], %a3;
    st.global.u32 [%out], %a4;
    ret;
}
\0";

#[test]
fn a_function_tells_its_constant_memory_its_registers_and_its_largest_block() {
    let gpu = Gpu::take();
    let module = gpu.load(ATTRIBUTES);
    let [bounded, wide] = [c"bounded", c"wide"].map(|name| function(module, name));
    let get = |attribute, function| {
        let mut value = -1;
        ok!(cuFuncGetAttribute(&mut value, attribute, function));
        value
    };
    let constants = CUfunction_attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
    assert_eq!(get(constants, bounded), 256);
    let registers = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
    // Both keep an address, which takes two, and the one keeps four values, the other one.
    assert_eq!(get(registers, wide) - get(registers, bounded), 4 - 1);
    let threads = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    assert_eq!(get(threads, bounded), 128);
    let pointer = gpu.allocate(32);
    let run = |threads| launch(bounded, [1, threads], DEFAULT, &[pointer]);
    assert_eq!(run(128), CUresult::CUDA_SUCCESS);
    assert_eq!(run(256), CUresult::CUDA_ERROR_INVALID_VALUE);
    ok!(cuCtxSynchronize());
}
