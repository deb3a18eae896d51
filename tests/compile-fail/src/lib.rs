//! Programs that must not compile, and what the compiler says of them: whoever makes such a mistake
//! is told what to write.
//!
//! The programs are in `tests/programs`, each beside what the compiler says. After a change that is
//! meant, `TRYBUILD=overwrite cargo test -p compile-fail` writes it anew. The texts are those of the
//! toolchain that `rust-version` in the workspace's `Cargo.toml` names.
#![forbid(unsafe_code)]
