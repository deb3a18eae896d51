//! Nothing names the machine that it was written on, or a registry's host.

use super::finding::Finding;
use super::project::Project;

/// Folders of a machine. What is temporary belongs below `target` or comes from `tempfile`.
const FOLDERS: [&str; 4] = ["/root/", "/home/", "/work/", "/tmp/"];

/// Hosts that packages come from: which of them to use is each user's own setting.
const HOSTS: [&str; 5] = [
    "index.crates.io",
    "static.crates.io",
    "crates.io-index",
    "pypi.org",
    "files.pythonhosted.org",
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &project.files {
        // cargo writes the one; this file has to name what it looks for.
        if file.path.ends_with("Cargo.lock") || file.path == file!() {
            continue;
        }
        for (number, line) in file.lines() {
            if let Some(folder) = FOLDERS.iter().find(|folder| names_folder(line, folder)) {
                let what = format!("`{folder}` is a folder of one machine: use a relative path");
                findings.push(file.finding(number, what));
            }
            if let Some(host) = HOSTS.iter().find(|host| line.contains(*host)) {
                findings.push(file.finding(number, format!("`{host}`: name no registry's host")));
            }
        }
    }
    findings
}

/// Whether the folder stands at the beginning of a path.
fn names_folder(line: &str, folder: &str) -> bool {
    let in_path = |c: char| c.is_alphanumeric() || "._-/*".contains(c);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(in_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_hosts_of_one_machine_are_found() {
        for text in ["see /home/me/x", "\"/root/.cargo\"", "cd /work/x", "https://pypi.org/simple"]
        {
            assert_eq!(Project::of(&[("a.md", text)]).found(check).len(), 1, "{text}");
        }
        for text in ["https://host.org/home/x", "crates/a/work/b", "https://crates.io/crates/cc"] {
            assert_eq!(Project::of(&[("a.md", text)]).found(check), [""; 0], "{text}");
        }
    }
}
