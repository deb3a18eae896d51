//! Tells what in a module this driver does not support: all of it, not only the first place.
//!
//! What has no problem here can be loaded by `cuModuleLoadData` and launched. The command
//! `ptx-check` is made of this.
//!
//! ```
//! let source = b".version 7.0 .target sm_75 .address_size 64
//!     .visible .entry k() { wgmma.fence; ret; }";
//! let reports = cuda_sim::ptx_check::check(source)?;
//! assert_eq!(reports[0].kernels, 1);
//! assert_eq!(reports[0].problems[0].line, 2);
//! # Ok::<(), cuda_sim::ptx_check::Unreadable>(())
//! ```

use ptx::control_flow::CallGraph;
use thiserror::Error;

use crate::fatbin::{self, FatbinEntryKind, FatbinError};

/// The findings in one text of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextReport {
    /// The architecture that a fat binary gives the text for, as 75 for compute_75.
    pub architecture: Option<u32>,
    /// The number of kernels that the text defines.
    pub kernels: usize,
    /// In the order of the text.
    pub problems: Vec<PtxDiagnostic>,
}

/// A place in a text that cannot be loaded: it is malformed, or not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxDiagnostic {
    /// From 1.
    pub line: u32,
    /// In bytes, from 1.
    pub column: u32,
    /// The text that stands there, cut to one line.
    pub text: String,
    /// The reason why it cannot be loaded.
    pub reason: String,
}

/// An input without PTX that could be checked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// Neither a text nor a fat binary.
    #[error("neither PTX text nor a fat binary")]
    Unknown,
    /// Machine code, without a fat binary around it.
    #[error("machine code (ELF) without PTX")]
    MachineCode,
    /// A fat binary that is malformed, or has no PTX in it.
    #[error("{0}")]
    FatBinary(String),
}

/// Checks PTX text, or all PTX in a fat binary.
///
/// # Errors
///
/// There is no PTX to be checked.
pub fn check(bytes: &[u8]) -> Result<Vec<TextReport>, Unreadable> {
    if bytes.starts_with(&fatbin::CONTAINER) {
        return check_container(bytes).map_err(|error| Unreadable::FatBinary(error.to_string()));
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(Unreadable::MachineCode);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::Unknown)?;
    Ok(vec![report(text, None)])
}

fn check_container(bytes: &[u8]) -> Result<Vec<TextReport>, FatbinError> {
    let entries = fatbin::entries(bytes)?;
    let ptx = entries.iter().filter(|entry| entry.kind == FatbinEntryKind::Ptx);
    let reports = ptx.map(|entry| Ok(report(&entry.text()?, Some(entry.architecture))));
    let reports = reports.collect::<Result<Vec<_>, _>>()?;
    match reports.is_empty() {
        true => Err(FatbinError::none(&entries)),
        false => Ok(reports),
    }
}

fn report(text: &str, architecture: Option<u32>) -> TextReport {
    let (module, mut errors) = ptx::survey(text);
    if errors.is_empty() {
        errors.extend(CallGraph::new(&module).err());
    }
    let kernels = module.functions.iter().filter(|function| function.is_kernel);
    TextReport {
        architecture,
        kernels: kernels.count(),
        problems: errors.iter().map(problem).collect(),
    }
}

fn problem(error: &ptx::Error) -> PtxDiagnostic {
    let ptx::Error { line, column, text, kind } = error;
    PtxDiagnostic { line: *line, column: *column, text: text.clone(), reason: kind.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(body: &str) -> Vec<(u32, u32, String)> {
        let source = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n\
             .visible .entry after() {{ ret; }}"
        );
        let reports = check(source.as_bytes()).expect("it is text");
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].kernels, 2, "{body}");
        let problems = reports[0].problems.iter();
        problems.map(|problem| (problem.line, problem.column, problem.text.clone())).collect()
    }

    #[test]
    fn every_place_is_found_and_nothing_else() {
        let found = problems(
            ".reg .b32 %r<9>; .reg .pred %p;\n\
             mov.b32 %r0, 1;\n\
             tex.2d.v4.f32.f32 {%r1,%r2,%r3,%r4}, [%r0, {%r1,%r2}];\n\
             add.s32 %r1, %r0, %r2;\n\
             @%p mma.sync.aligned.m8n8k4.row {%r1}, {%r2}, {%r3}, {%r4};\n\
             add.s32 %r1, %unknown, {%r2};\n\
             { .reg .b128 %wide; bra NOWHERE; }\n\
             ret;",
        );
        let expected = [
            (8, 1, "tex.2d.v4.f32.f32 {%r1,%r2,%r3,%r4}, [%r0, {%r1,%r2}]"),
            (10, 5, "mma.sync.aligned.m8n8k4.row {%r1}, {%r2}, {%r3}, {%r4}"),
            (11, 14, "%unknown"),
            (12, 8, ".b128"),
            (12, 25, "NOWHERE"),
        ];
        let expected = expected.map(|(line, column, text)| (line, column, text.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_follows_a_broken_function_is_checked_too() {
        let source = ".version 7.0 .target sm_75, texmode_independent\n.address_size 64\n\
                      .func (.reg .b32 %r) f(.param .b32 a) { { ret; } }\n\
                      .global .surfref s;\n\
                      .visible .entry k() { brr; ret }";
        let reports = check(source.as_bytes()).expect("it is text");
        let lines: Vec<u32> = reports[0].problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 3, 4, 5, 5]);
        assert_eq!(reports[0].kernels, 1);
    }

    #[test]
    fn what_is_no_ptx_is_said_to_be_none() {
        assert_eq!(check(b"\x7fELF\x02"), Err(Unreadable::MachineCode));
        assert_eq!(check(&[0xff, 0xfe]), Err(Unreadable::Unknown));
        assert!(matches!(check(&fatbin::CONTAINER), Err(Unreadable::FatBinary(_))));
        assert_eq!(check(b"").expect("it is text")[0].problems.len(), 1);
    }
}
