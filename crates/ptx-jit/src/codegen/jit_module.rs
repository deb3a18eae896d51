//! Cranelift's module for code that is run at once: its settings, its memory, and what its code may call.

use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{ModuleError, default_libcall_names};

use super::arena::CodeMemory;
use crate::abi::{Helper, HelperAddresses};

/// A module whose code can call the helpers, and functions at some more addresses.
pub(super) fn new_module(
    helpers: HelperAddresses,
    others: &[(String, usize)],
) -> Result<JITModule, String> {
    let mut flags = settings::builder();
    // What is verified here is each step inside of Cranelift, beside what `ModuleBuilder` looks at.
    let verify = if cfg!(test) { "true" } else { "false" };
    let settings = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "speed"),
        // In code for warps, it has the record of the warp.
        ("enable_pinned_reg", "true"),
        ("enable_verifier", verify),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    let memory = CodeMemory::new().map_err(|error| format!("no memory for code: {error}"))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    for helper in Helper::ALL {
        builder.symbol(helper.name(), helpers(*helper));
    }
    builder.symbol("memcpy", libc::memcpy as *const u8);
    for (name, address) in others {
        builder.symbol(name.as_str(), *address as *const u8);
    }
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

/// The text of an error of Cranelift's.
pub(super) fn describe(error: ModuleError) -> String {
    // The plain text of a compilation error only says that there was one.
    match error {
        ModuleError::Compilation(inner) => format!("{inner:?}"),
        other => other.to_string(),
    }
}
