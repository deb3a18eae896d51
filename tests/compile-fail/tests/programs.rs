//! Compiles each program, and compares what the compiler says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use serde_json::Value;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn wrong_programs_are_told_what_to_write() {
    let programs = programs();
    assert!(!programs.is_empty(), "there are no programs");
    for program in programs {
        expect_file![program.with_extension("stderr")].assert_eq(&messages(&program));
    }
}

fn programs() -> Vec<PathBuf> {
    let files = fs::read_dir(Path::new(CRATE).join("tests/programs")).expect("the programs");
    let files = files.map(|file| file.expect("a file").path());
    let mut programs: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "rs")).collect();
    programs.sort();
    programs
}

/// What the compiler says of a program, as it prints it, with paths from the workspace's folder.
fn messages(program: &Path) -> String {
    let workspace = Path::new(CRATE).join("../..").canonicalize().expect("the workspace's folder");
    let output = Command::new("rustc")
        .current_dir(&workspace)
        .args(["--edition=2024", "--emit=metadata=-", "--error-format=json"])
        .args(compile_fail::crates_in_use!())
        .arg(program.strip_prefix(&workspace).expect("a program in the workspace"))
        .output()
        .expect("rustc runs");
    assert!(!output.status.success(), "{} compiles", program.display());
    let lines = String::from_utf8(output.stderr).expect("the compiler writes UTF-8");
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    // What speaks of no place is a count of the errors.
    let messages = messages.filter(|message| message["spans"][0].is_object());
    let messages: Vec<String> =
        messages.filter_map(|message| message["rendered"].as_str().map(Into::into)).collect();
    let text = messages.concat().replace(&format!("{}/", workspace.display()), "");
    text.lines().map(|line| without_numbers(line) + "\n").collect()
}

/// A line of a message without what changes elsewhere would alter: the numbers of lines, and how
/// many types are not listed.
fn without_numbers(line: &str) -> String {
    let text = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
    if text.starts_with("and ") && text.ends_with(" others") {
        return "and others".to_owned();
    }
    let is_place = text.starts_with("--> ") || text.starts_with("::: ");
    match text.split_once(".rs:") {
        Some((file, _)) if is_place => format!("{file}.rs"),
        _ => text.to_owned(),
    }
}
