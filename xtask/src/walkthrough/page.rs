//! The steps of a page in Markdown: its fenced blocks.
//!
//! ` ```toml file=first/Cargo.toml ` is a file; ` ```sh ` are commands; ` ```text ` after them is what
//! they print, where `...` stands for anything. Other blocks are there to be read.

use anyhow::{Result, ensure};

/// A step of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageStep {
    /// A file with its whole text. A later block with the same path replaces it.
    File { path: String, text: String },
    /// Commands for a shell, and the line of the page that they stand in.
    Commands { line: usize, text: String },
    /// What the commands before it print.
    Printed { line: usize, text: String },
}

/// The steps of a page.
///
/// # Errors
/// A block has no end.
pub(super) fn steps(page: &str) -> Result<Vec<PageStep>> {
    let mut steps = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let mut text = String::new();
        let mut ended = false;
        for (_, line) in lines.by_ref() {
            ended = line == "```";
            if ended {
                break;
            }
            text += line;
            text.push('\n');
        }
        ensure!(ended, "the block in line {} has no end", number + 1);
        let (language, file) = info.split_once(" file=").unwrap_or((info, ""));
        let line = number + 1;
        match (language, file) {
            ("sh", "") => steps.push(PageStep::Commands { line, text }),
            ("text", "") => steps.push(PageStep::Printed { line, text }),
            (_, "") => {}
            (_, path) => steps.push(PageStep::File { path: path.to_owned(), text }),
        }
    }
    Ok(steps)
}

/// The first of the expected lines that was not printed, after those before it.
pub(super) fn missing<'t>(printed: &[String], expected: &'t str) -> Option<&'t str> {
    let mut rest = printed.iter();
    expected
        .lines()
        .filter(|line| !line.trim().is_empty() && line.trim() != "...")
        .find(|expected| !rest.any(|line| fits(line, expected)))
}

/// Whether a line is as expected, where `...` stands for any text.
fn fits(line: &str, expected: &str) -> bool {
    let mut parts = expected.trim().split("...");
    let Some(mut rest) = parts.next().and_then(|first| line.trim().strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_commands_and_what_they_print_are_steps_and_the_rest_is_read() {
        let page = "# A page\n```toml file=first/Cargo.toml\n[package]\n```\n```rust\nlet x;\n```\n\
                    ```sh\ncargo run\n```\n```text\nloss ...\n```\n";
        let found = steps(page).expect("all blocks end");
        assert_eq!(
            found,
            [
                PageStep::File { path: "first/Cargo.toml".into(), text: "[package]\n".into() },
                PageStep::Commands { line: 8, text: "cargo run\n".into() },
                PageStep::Printed { line: 11, text: "loss ...\n".into() },
            ]
        );
        assert!(steps("```sh\ncargo run\n").is_err(), "no end");
    }

    #[test]
    fn three_dots_stand_for_any_text() {
        assert!(fits("loss 0.31 after 3 epochs", "loss ... after ... epochs"));
        assert!(fits("loss 0.31", "loss ..."));
        assert!(!fits("loss 0.31", "loss"));
        assert!(!fits("a loss 0.31", "loss ..."));
        let printed = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        assert_eq!(missing(&printed, "one\n...\nthree\n"), None);
        assert_eq!(missing(&printed, "two\none\n"), Some("one"), "the order counts");
    }
}
