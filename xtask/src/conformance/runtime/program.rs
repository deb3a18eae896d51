//! The programs in `tests/runtime-api`, and what the comments at their heads say.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::paths::{files, relative};

/// A program. What is C is compiled for a version of the library, which it opens itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RuntimeProgram {
    /// Its own source, then the headers that it may include.
    pub(super) sources: Vec<PathBuf>,
    pub(super) version: Option<u32>,
    /// `// with: NAME.part.cu`, further files of it in the same folder.
    pub(super) parts: Vec<PathBuf>,
    /// `// flags: …`, for the compiler.
    pub(super) flags: Vec<String>,
    /// `// link: …`, libraries beside the runtime's.
    pub(super) libraries: Vec<String>,
    /// `// environment: NAME=VALUE`.
    pub(super) environment: Vec<(String, String)>,
    /// `// checks: …`, the checks that it can pass if not all.
    pub(super) checks: Option<String>,
    /// `// without: driver`.
    pub(super) without_driver: bool,
}

/// All programs, those on CUB and Thrust left out if asked for.
pub(super) fn programs(folder: &Path, short: bool) -> Result<Vec<RuntimeProgram>> {
    let mut programs = Vec::new();
    for (room, extension, versions) in
        [("cpp", "cu", &[None][..]), ("cub", "cu", &[None]), ("c", "c", &[Some(12), Some(13)])]
    {
        if short && room == "cub" {
            continue;
        }
        let room = folder.join(room);
        ensure!(room.is_dir(), "there are no programs in {}", relative(&room));
        let mut headers = files(folder, "h")?;
        headers.extend(files(&room, "h")?);
        let is_part = |source: &PathBuf| source.to_string_lossy().ends_with(".part.cu");
        for source in files(&room, extension)?.into_iter().filter(|source| !is_part(source)) {
            let text = fs::read_to_string(&source)?;
            for &version in versions {
                let mut program = RuntimeProgram { version, ..RuntimeProgram::default() };
                program.read(&text);
                program.parts.iter_mut().for_each(|part| *part = room.join(&*part));
                program.sources.push(source.clone());
                program.sources.extend(program.parts.iter().cloned());
                program.sources.extend(headers.iter().cloned());
                programs.push(program);
            }
        }
    }
    Ok(programs)
}

impl RuntimeProgram {
    /// Reads what the comments say of compiling and running it.
    fn read(&mut self, text: &str) {
        let comments = text.lines().map_while(|line| line.strip_prefix("// "));
        for (key, value) in comments.filter_map(|line| line.split_once(": ")) {
            let words = value.split_whitespace().map(str::to_owned);
            match key {
                "flags" => self.flags.extend(words),
                "with" => self.parts.extend(words.map(PathBuf::from)),
                "link" => self.libraries.extend(words),
                "environment" => self.environment.extend(words.filter_map(|word| {
                    let (name, value) = word.split_once('=')?;
                    Some((name.to_owned(), value.to_owned()))
                })),
                "checks" => self.checks = Some(value.to_owned()),
                "without" => self.without_driver = value == "driver",
                _ => {}
            }
        }
    }

    /// Its folder and name, and its version if there is one.
    pub(super) fn name(&self) -> String {
        let source = self.sources.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
        let room = source.parent().and_then(Path::file_name).unwrap_or_default();
        let name = source.file_stem().unwrap_or_default();
        let name = format!("{}/{}", room.display(), name.display());
        self.version.map_or(name.clone(), |version| format!("{name}-{version}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_at_the_head_say_how_a_program_is_compiled_and_run() {
        let mut program =
            RuntimeProgram { sources: vec!["a/cpp/b.cu".into()], ..RuntimeProgram::default() };
        program.read("// flags: -a -b\n// with: c.part.cu\n// Text: too.\n// link: cuda\n// environment: X= Y=1\n// checks: a,b\nint");
        assert_eq!(program.flags, ["-a", "-b"]);
        assert_eq!(program.parts, [PathBuf::from("c.part.cu")]);
        assert_eq!(program.libraries, ["cuda"]);
        let environment = [("X".to_owned(), String::new()), ("Y".to_owned(), "1".to_owned())];
        assert_eq!(program.environment, environment);
        assert_eq!(program.checks.as_deref(), Some("a,b"));
        assert!(!program.without_driver);
        assert_eq!(program.name(), "cpp/b");
        program.version = Some(12);
        assert_eq!(program.name(), "cpp/b-12");
    }

    #[test]
    fn what_stands_after_the_comments_is_code() {
        let mut program = RuntimeProgram::default();
        program.read("// A program.\n\n// without: driver\n");
        assert_eq!(program, RuntimeProgram::default());
    }
}
