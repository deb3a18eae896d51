//! The kernels that there are, and what the launch file of the crate `tensor` takes for granted.

use std::collections::BTreeSet;

const FLOATS: &str = "f16 f32 f64";
const SIGNED: &str = "f16 f32 f64 i64";
const NUMBERS: &str = "f16 f32 f64 i64 u8";
const ALL: &str = "f16 f32 f64 i64 u8 bool";

/// Module, operations, dtypes, and the size of the struct that is the kernel's one parameter.
const TABLE: &[(&str, &str, &str, usize)] = &[
    ("unary", "neg abs sign square relu", NUMBERS, 240),
    ("unary", "floor ceil round trunc", FLOATS, 240),
    ("unary", "exp expm1 log log1p sqrt rsqrt reciprocal", FLOATS, 240),
    ("unary", "sin cos tanh sigmoid erf", FLOATS, 240),
    ("unary", "logical_not", ALL, 240),
    ("binary", "add mul maximum minimum", ALL, 320),
    ("binary", "sub remainder floor_divide", NUMBERS, 320),
    ("binary", "div relu_backward", FLOATS, 320),
    ("binary", "pow", SIGNED, 320),
    ("compare", "eq ne lt le gt ge", ALL, 320),
    ("compare", "logical_and logical_or logical_xor", ALL, 320),
    ("ternary", "where", ALL, 400),
    ("ternary", "add_scaled clamp", NUMBERS, 400),
    ("ternary", "lerp", FLOATS, 400),
    ("ternary", "addcmul", NUMBERS, 480),
    ("ternary", "addcdiv", FLOATS, 480),
    ("copy", "copy_f16 copy_f32 copy_f64 copy_i64 copy_u8 copy_bool", ALL, 240),
    ("reduce", "sum prod", SIGNED, 304),
    ("reduce", "mean", FLOATS, 304),
    ("reduce", "amax amin argmax argmin", ALL, 304),
    ("reduce", "any all", "bool", 304),
    ("matmul", "matmul", SIGNED, 288),
    ("softmax", "softmax log_softmax softmax_backward log_softmax_backward", FLOATS, 40),
    ("index", "gather index_select", ALL, 56),
    ("index", "scatter_add index_add", SIGNED, 56),
    ("random", "uniform normal", FLOATS, 64),
    ("random", "random bernoulli", ALL, 64),
    ("range", "arange", NUMBERS, 48),
];

/// Module, entry and size of the parameter, for each line of the table.
fn expected() -> impl Iterator<Item = (&'static str, String, usize)> {
    TABLE.iter().flat_map(|&(module, operations, dtypes, bytes)| {
        operations.split(' ').flat_map(move |operation| {
            dtypes.split(' ').map(move |dtype| (module, format!("{operation}_{dtype}"), bytes))
        })
    })
}

/// The text of a module, unless it was built as a fatbin.
fn ptx(module: &kernels::Module) -> Option<&'static str> {
    const FATBIN_MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
    if module.image.starts_with(&FATBIN_MAGIC) {
        return None;
    }
    let text = module.image.strip_suffix(b"\0").expect("PTX ends with a NUL");
    Some(str::from_utf8(text).expect("PTX is ASCII"))
}

#[test]
fn each_operation_has_a_kernel_for_each_of_its_dtypes_and_no_other_exists() {
    let present: BTreeSet<(&str, String)> = kernels::modules()
        .iter()
        .flat_map(|module| module.entries.iter().map(|&entry| (module.name, entry.to_owned())))
        .collect();
    let mut wanted: BTreeSet<_> = expected().map(|(module, entry, _)| (module, entry)).collect();
    wanted.insert(("saxpy", "saxpy".to_owned()));
    assert_eq!(present, wanted);
}

#[test]
fn a_kernel_is_found_in_its_module() {
    for (name, entry, _) in expected() {
        let module = kernels::module_of(&entry).expect("the entry exists");
        assert_eq!(module.name, name);
    }
    assert!(kernels::module_of("add_i32").is_none());
}

#[test]
fn parameters_have_the_sizes_of_the_structs_that_are_passed() {
    for (name, entry, bytes) in expected() {
        let module = kernels::module_of(&entry).expect("the entry exists");
        let Some(text) = ptx(module) else { continue };
        let parameter = format!(".param .align 8 .b8 {entry}_param_0[{bytes}]\n)");
        assert!(text.contains(&parameter), "{name}.ptx lacks `{parameter}`");
    }
}

#[test]
fn ptx_is_for_sm_75_and_a_driver_of_cuda_12_0_reads_it() {
    for module in kernels::modules() {
        let Some(text) = ptx(module) else { continue };
        assert!(text.contains("\n.target sm_75\n"), "{}", module.name);
        let version = text.split(".version ").nth(1).and_then(|rest| rest.lines().next());
        let (major, minor) =
            version.and_then(|version| version.split_once('.')).expect("PTX names its version");
        let version: (u32, u32) = (major.parse().expect("digits"), minor.parse().expect("digits"));
        assert!(version <= (8, 0), "{}: {version:?}", module.name);
    }
}

#[test]
fn any_block_that_a_gpu_can_run_can_be_launched() {
    for module in kernels::modules() {
        let Some(text) = ptx(module) else { continue };
        let threads = if module.name == "matmul" { 256 } else { 1024 };
        let bounds = text.matches(&format!("\n.maxntid {threads}, 1, 1\n")).count();
        assert_eq!(bounds, module.entries.len(), "{}", module.name);
    }
}
