//! Everything that Sluice is built from has a licence that asks for no more than a notice.

use super::finding::Finding;
use super::project::Project;

const ALLOWED: [&str; 8] = [
    "MIT",
    "Apache-2.0",
    // The exception takes a duty away.
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &project.packages {
        let licence = package.licence.as_deref().unwrap_or("none");
        if !allows(licence) {
            let what = format!(
                "`{}` has the licence `{licence}`: replace it, or allow that in {}",
                package.name,
                file!()
            );
            let name = format!("name = \"{}\"", package.name);
            findings.push(project.finding("Cargo.lock", &name, what));
        }
    }
    findings
}

/// Whether an SPDX expression can be met by licences of the list.
fn allows(expression: &str) -> bool {
    // Old packages write a slash for `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words) && words.next().is_none()
}

type LicenceWords<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `AND` binds more tightly than `OR`. Each side is read, whatever the other one is.
fn any(words: &mut LicenceWords<'_>) -> bool {
    let mut allowed = all(words);
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut LicenceWords<'_>) -> bool {
    let mut allowed = one(words);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut LicenceWords<'_>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        return any(words) & words.next_if_eq(&")").is_some();
    }
    let mut name = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    ALLOWED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Package;
    use super::*;

    #[test]
    fn one_of_several_licences_is_enough_and_all_of_a_sum_are_needed() {
        for expression in [
            "MIT",
            "Unlicense/MIT",
            "Apache-2.0 / MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT AND ISC",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(allows(expression), "{expression}");
        }
        for expression in [
            "",
            "none",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "(MIT",
            "MIT ISC",
            "GPL-3.0 WITH LLVM-exception",
        ] {
            assert!(!allows(expression), "{expression}");
        }
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_found_in_the_lock_file() {
        let mut package = Package::member("copyleft");
        package.licence = Some("GPL-3.0".into());
        let files = [("Cargo.lock", "version = 4\n[[package]]\nname = \"copyleft\"\n")];
        let project = Project { packages: vec![package], ..Project::of(&files) };
        assert!(project.found(check)[0].starts_with("Cargo.lock:3: `copyleft` has the licence"));
    }
}
