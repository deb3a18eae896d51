//! Gives the shared library the name and the symbol version that programs look for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=libcudart.map");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.12");
        // Beside the list that rustc hands the linker, which has none of these names. That takes
        // rustc's own linker, lld: ld knows one list only.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/libcudart.map");
        // The driver calls it from threads of its own.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
