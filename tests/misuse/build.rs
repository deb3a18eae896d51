//! Makes an entry of each public function whose arguments can be drawn.

use std::fmt::Write;
use std::path::Path;
use std::{env, error::Error, fs};

/// The crates whose functions are tried, by their folders.
const CRATES: [&str; 7] =
    ["gpu-runtime", "gpu-alloc", "tensor", "serialization", "nn", "collectives", "parallel"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let mut entries = String::from("&[\n");
    for folder in CRATES {
        println!(
            "cargo::rerun-if-changed={}",
            root.join("crates").join(folder).join("src").display()
        );
        let name = folder.replace('-', "_");
        for function in surface::functions(&name, &format!("crates/{folder}/src/lib.rs"), &read)? {
            if let Some(call) = function.entry() {
                writeln!(entries, "CallEntry {{ names: &[{:?}], run: {call} }},", function.path)?;
            }
        }
    }
    entries.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("entries.rs"), entries)?;
    Ok(())
}
