//! The CUDA kernels of Sluice, embedded: what nvcc made of `kernels/*.cu`.
//!
//! Neither building nor using this crate takes a CUDA toolkit: the PTX is checked in
//! (`cargo xtask build-kernels` makes it anew), and a driver compiles it for the GPU at hand, the
//! software driver too. Who has nvcc can ask for machine code: built with `CUDA_ARCHS=90`, or a list
//! such as `80,90`, the images are fatbins for these architectures, which NVIDIA's driver loads
//! without compiling, and the software driver refuses.
//!
//! In PTX every kernel is a module of its own, since drivers compile whole modules; a fatbin holds all
//! kernels of a source file. What is embedded is compressed, in groups of modules, and unpacked when it
//! is first asked for.
//!
//! Elementwise kernels are not here: the crate `expression` prints them. The functions that they are
//! made of, where PTX has no instruction, are [`scalar_function`]s.
//!
//! What the kernels are called, what they compute and how they are launched is written in the
//! folder's README. This crate knows bytes and names only.
//!
//! ```
//! let module = kernels::module_of("sum_f32").expect("there is such a kernel");
//! assert!(module.entries.contains(&"sum_f32"));
//! ```
//!
//! What it is not: it launches nothing. The crate `gpu-runtime` loads such an image and launches its
//! kernels; `tensor` has the structs that they take, and is what most programs want.

#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   functions
//   packed
mod functions;
mod packed;

use std::ops::Range;

use packed::Packed;

pub use functions::{ScalarFunction, scalar_function, scalar_item};

/// Kernels that are loaded together.
pub struct KernelModule {
    /// Unique among the modules.
    pub name: &'static str,
    /// The kernels' names, each of which is in one module only.
    pub entries: &'static [&'static str],
    /// The group of images that are packed together, and where in it this one is.
    group: usize,
    place: Range<usize>,
}

impl KernelModule {
    /// The argument of `cuModuleLoadData`: PTX that ends with a NUL, or a fatbin where `CUDA_ARCHS`
    /// was set when the crate was built.
    pub fn image(&self) -> &[u8] {
        &GROUPS[self.group].bytes()[self.place.clone()]
    }
}

/// All modules.
pub fn modules() -> &'static [KernelModule] {
    &MODULES
}

/// The module that holds the kernel `entry`.
pub fn module_of(entry: &str) -> Option<&'static KernelModule> {
    let position = ENTRIES.binary_search_by_key(&entry, |&(name, _)| name).ok()?;
    Some(&MODULES[ENTRIES[position].1])
}

/// The kernel of an operation for a dtype, which is given by its short name: the module, and the
/// kernel's own name in it. What only moves elements has one kernel for all dtypes of a size.
///
/// ```
/// let (module, entry) = kernels::kernel("gather", "bf16").expect("there is such a kernel");
/// assert_eq!(entry, "gather_i16");
/// assert!(module.entries.contains(&entry));
/// ```
pub fn kernel(operation: &str, dtype: &str) -> Option<(&'static KernelModule, &'static str)> {
    let kind = match dtype {
        _ if !MOVES.contains(&operation) => dtype,
        "f64" | "i64" => "i64",
        "f32" | "i32" => "i32",
        "f16" | "bf16" | "i16" => "i16",
        _ => "u8",
    };
    let entry = format!("{operation}_{kind}");
    let module = module_of(&entry)?;
    let entry = module.entries.iter().find(|known| **known == entry)?;
    Some((module, *entry))
}

/// The operations that only move elements.
const MOVES: [&str; 4] = ["gather", "index_copy", "index_select", "scatter"];

/// The bytes that the crate embeds for its kernels and functions.
pub fn embedded_bytes() -> usize {
    GROUPS.iter().map(Packed::embedded).sum::<usize>() + functions::embedded_bytes()
}

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
