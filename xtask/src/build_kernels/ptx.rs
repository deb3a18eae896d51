//! PTX as it is checked in: the same from every run and on every machine.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};

/// nvcc's output without the lines that tell the compiler's build, without trailing blanks, and
/// without hints that newer drivers alone know.
pub(super) fn tidy(raw: &str) -> Result<String> {
    let start = raw.find(".version").context("nvcc's output has no .version")?;
    let mut text = String::with_capacity(raw.len());
    let is_needed = |line: &&str| !line.trim_start().starts_with(".pragma \"used_bytes_mask");
    for line in raw[start..].lines().filter(is_needed) {
        writeln!(text, "{}", line.trim_end()).expect("a string takes all");
    }
    Ok(text)
}

/// `text` with another version of the PTX language in its first line.
pub(super) fn with_version(text: &str, version: &str) -> String {
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    format!(".version {version}\n{rest}")
}

/// # Errors
/// If a name in `text` differs from run to run or with the compiler, so that neither two builds nor
/// a caller who looks a kernel up would agree on it.
pub(super) fn ensure_reproducible(text: &str) -> Result<()> {
    // nvcc puts a hash that is new in every run into the names of what an unnamed namespace holds.
    if let Some(name) = words(text).find(|word| word.contains("_INTERNAL_")) {
        ensure!(false, "`{name}` has internal linkage, and thereby another name in every build");
    }
    for entry in entries(text) {
        ensure!(
            !entry.starts_with("_Z"),
            "the kernel `{entry}` has a mangled name: declare it `extern \"C\"`"
        );
    }
    for path in text.lines().filter_map(|line| line.trim_start().strip_prefix(".file")) {
        ensure!(!path.contains("\"/"), "the path of a machine in `.file{path}`");
    }
    Ok(())
}

/// The names of the kernels.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(".entry").skip(1).filter_map(|rest| words(rest).next())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"_$".contains(c)).filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = "//\n// Compiler Build ID: CL-1\n//\n\n.version 9.0\n.target sm_75\n\
                       // .globl k  \n.visible .entry k(\n\t.param .u64 k_param_0 \n)\n";

    #[test]
    fn the_compilers_build_and_trailing_blanks_are_left_out() {
        let text = tidy(RAW).expect("it has a version");
        assert!(text.starts_with(".version 9.0\n.target sm_75\n// .globl k\n.visible"), "{text}");
        assert!(!text.contains(" \n"));
    }

    #[test]
    fn only_the_version_line_changes() {
        let text = with_version(&tidy(RAW).expect("it has a version"), "6.3");
        assert!(text.starts_with(".version 6.3\n.target sm_75\n"), "{text}");
        assert_eq!(text.lines().count(), tidy(RAW).expect("as above").lines().count());
    }

    #[test]
    fn output_without_a_version_is_refused() {
        assert!(tidy("").is_err());
    }

    #[test]
    fn names_that_differ_from_run_to_run_are_refused() {
        let variable = ".global .u32 _ZN34_INTERNAL_00ca142d_4_c_cu_bd94af406hiddenE = 4;";
        let error = ensure_reproducible(variable).expect_err("its name is not stable");
        assert!(error.to_string().contains("internal linkage"), "{error}");
        assert!(ensure_reproducible(".global .align 4 .u32 counter = 3;").is_ok());
    }

    #[test]
    fn mangled_kernels_are_refused_and_mangled_functions_are_not() {
        let error = ensure_reproducible(".visible .entry _Z1kv(\n)").expect_err("it is mangled");
        assert!(error.to_string().contains("`_Z1kv`"), "{error}");
        assert!(ensure_reproducible(".func _Z4slowi(\n)\n.visible .entry k(\n)").is_ok());
    }

    #[test]
    fn absolute_paths_are_refused() {
        assert!(ensure_reproducible("\t.file\t1 \"/usr/src/kernels/k.cu\"").is_err());
        assert!(ensure_reproducible("\t.file\t1 \"kernels/k.cu\"").is_ok());
    }
}
