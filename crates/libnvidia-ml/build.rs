//! Gives the shared library the name that programs look for, and keeps it loaded.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
        // It keeps the driver open.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
