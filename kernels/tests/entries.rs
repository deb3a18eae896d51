//! The kernels that there are, and what the launch file of the crate `tensor` takes for granted.

use std::collections::BTreeSet;

const FLOATS: &str = "f16 bf16 f32 f64";
/// What tensor cores multiply.
const HALVES: &str = "f16 bf16";
/// What is computed in `float`.
const SINGLES: &str = "f16 bf16 f32";
const NUMBERS: &str = "f16 bf16 f32 f64 i64 i32 i16 i8 u8";
const ALL: &str = "f16 bf16 f32 f64 i64 i32 i16 i8 u8 bool";
/// For what only moves elements: an integer of each size.
const SIZES: &str = "i64 i32 i16 u8";

/// Floats, and integers of 64 bits for all.
const GATHERED: &str = "f16 bf16 f32 f64 i64";

/// Operations, their dtypes, and the size of the struct that is the kernel's one parameter.
const TABLE: &[(&str, &str, usize)] = &[
    ("sum prod amax amin argmax argmin any all", ALL, 320),
    ("mean moments", FLOATS, 320),
    ("cumsum cumprod", GATHERED, 56),
    ("argsort", "f32 f64 i64 i32", 88),
    ("radix_count radix_scatter", "f32 f64 i64 i32", 160),
    ("radix_scan", "i32", 160),
    ("searchsorted", "f32 f64 i64", 64),
    ("matmul_small matmul", NUMBERS, 296),
    ("matmul_rows", FLOATS, 296),
    ("matmul_large", SINGLES, 296),
    ("matmul_halves_nn matmul_halves_nt matmul_halves_tn matmul_halves_tt", HALVES, 296),
    (
        "matmul_halves_large_nn matmul_halves_large_nt matmul_halves_large_tn \
         matmul_halves_large_tt",
        HALVES,
        296,
    ),
    ("conv_output conv_input conv_weight", FLOATS, 272),
    ("conv_output_large conv_input_large conv_weight_large", FLOATS, 272),
    ("conv_output_few conv_input_few conv_weight_few", FLOATS, 272),
    ("conv_output_thin conv_input_thin", FLOATS, 272),
    ("conv_output_halves conv_input_halves conv_weight_halves", HALVES, 272),
    ("conv_output_halves_large conv_input_halves_large", HALVES, 272),
    ("softmax log_softmax softmax_backward log_softmax_backward", FLOATS, 56),
    ("attention attention_backward_queries attention_backward_keys", FLOATS, 328),
    ("attention_halves_64 attention_halves_128", HALVES, 328),
    (
        "attention_halves_backward_queries_64 attention_halves_backward_queries_128 \
         attention_halves_backward_keys_64 attention_halves_backward_keys_128",
        HALVES,
        328,
    ),
    ("layer_norm layer_norm_backward", FLOATS, 88),
    ("layer_norm_parameters", FLOATS, 80),
    ("gather scatter index_select index_copy", SIZES, 56),
    ("scatter_add index_add", ALL, 56),
    ("scatter_prod scatter_amax scatter_amin", "f32 f64 i64", 56),
    ("cat", "u8", 1832),
    ("uniform normal exponential dropout", FLOATS, 80),
    ("random bernoulli", ALL, 80),
    ("arange", NUMBERS, 48),
    ("max_pool avg_pool", GATHERED, 192),
    ("max_pool_backward avg_pool_backward", FLOATS, 192),
    ("resample", GATHERED, 144),
    ("resample_backward", FLOATS, 144),
];

/// Entry and size of the parameter, for each operation and dtype.
fn expected() -> impl Iterator<Item = (String, usize)> {
    TABLE.iter().flat_map(|&(operations, dtypes, bytes)| {
        operations.split(' ').flat_map(move |operation| {
            dtypes.split(' ').map(move |dtype| (format!("{operation}_{dtype}"), bytes))
        })
    })
}

fn module_of(entry: &str) -> &'static kernels::KernelModule {
    kernels::module_of(entry).expect("the entry exists")
}

/// The text of a module, unless it was built as a fatbin.
fn ptx(module: &'static kernels::KernelModule) -> Option<&'static str> {
    const FATBIN_MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
    if module.image().starts_with(&FATBIN_MAGIC) {
        return None;
    }
    let text = module.image().strip_suffix(b"\0").expect("PTX ends with a NUL");
    Some(str::from_utf8(text).expect("PTX is ASCII"))
}

#[test]
fn each_operation_has_a_kernel_for_each_of_its_dtypes_and_no_other_exists() {
    let present: BTreeSet<String> = kernels::modules()
        .iter()
        .flat_map(|module| module.entries.iter().map(|&entry| entry.to_owned()))
        .collect();
    let mut wanted: BTreeSet<_> = expected().map(|(entry, _)| entry).collect();
    wanted.insert("saxpy".to_owned());
    assert_eq!(present, wanted);
}

#[test]
fn a_kernel_is_found_in_the_one_module_that_has_it() {
    for (entry, _) in expected() {
        assert!(module_of(&entry).entries.contains(&entry.as_str()), "{entry}");
    }
    assert!(kernels::module_of("add_f32").is_none());
    let names: BTreeSet<_> = kernels::modules().iter().map(|module| module.name).collect();
    assert_eq!(names.len(), kernels::modules().len());
}

#[test]
fn a_module_of_ptx_holds_one_kernel_and_what_that_needs() {
    for module in kernels::modules() {
        let Some(text) = ptx(module) else { continue };
        assert_eq!(text.matches(".entry ").count(), 1, "{}", module.name);
    }
    let Some(gather) = ptx(module_of("gather_i32")) else { return };
    assert!(gather.contains("\n.extern .func __assertfail"));
    let arange = ptx(module_of("arange_f32")).expect("all modules are PTX, or none");
    assert!(!arange.contains(".global .align") && !arange.contains(".func"));
}

#[test]
fn parameters_have_the_sizes_of_the_structs_that_are_passed() {
    for (entry, bytes) in expected() {
        let Some(text) = ptx(module_of(&entry)) else { continue };
        let parameter = format!(".param .align 8 .b8 {entry}_param_0[{bytes}]\n)");
        assert!(text.contains(&parameter), "{entry} lacks `{parameter}`");
    }
}

#[test]
fn ptx_is_for_sm_75_or_with_tensor_cores_for_sm_80_and_a_driver_of_cuda_12_0_reads_it() {
    for module in kernels::modules() {
        let Some(text) = ptx(module) else { continue };
        let version = text.strip_prefix(".version ").expect("that comes first");
        let (version, rest) = version.split_once('\n').expect("it is a line");
        let (major, minor) = version.split_once('.').expect("a version has two parts");
        let version: (u32, u32) = (major.parse().expect("digits"), minor.parse().expect("digits"));
        assert!(version <= (8, 0), "{}: {version:?}", module.name);
        let architecture = if module.name.contains("_halves") { 80 } else { 75 };
        let target = format!(".target sm_{architecture}\n.address_size 64\n");
        assert!(rest.starts_with(&target), "{}", module.name);
    }
}

#[test]
fn any_block_that_a_gpu_can_run_can_be_launched() {
    for module in kernels::modules() {
        let Some(text) = ptx(module) else { continue };
        let fixed = ["attention", "conv", "matmul", "cumsum", "cumprod", "argsort", "radix"];
        let is_fixed = fixed.iter().any(|operation| module.name.starts_with(operation));
        let threads = match is_fixed {
            _ if module.name.contains("_halves") => 128,
            true => 256,
            false => 1024,
        };
        let bound = format!("\n.maxntid {threads}, 1, 1\n");
        assert!(text.contains(&bound), "{}", module.name);
    }
}

#[test]
fn what_is_embedded_is_small() {
    const MAX_BYTES: usize = 1_500_000;
    let bytes = kernels::embedded_bytes();
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
}

#[test]
fn a_function_is_found_with_all_that_it_needs() {
    let tangent = kernels::scalar_function("tan_f64").expect("it exists");
    let needs: String = tangent.needs().iter().map(|&item| kernels::scalar_item(item)).collect();
    let declaration = needs.find("__internal_trig_reduction_slowpathd").expect("it calls that");
    assert!(needs[declaration..].contains("\n)\n{"), "the definition follows the declaration");
    assert!(needs.contains("__cudart_i2opi_d[144]"), "the slow path reads a table");
    assert!(!needs.contains("tan_f64"));
    assert!(kernels::scalar_function("exp_f16").is_none());
    assert!(kernels::scalar_function("__cudart_i2opi_d").is_none());
}
