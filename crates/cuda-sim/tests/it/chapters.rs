//! The chapters of the driver API: functions that Sluice's own floors call, and the others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The text of all Rust files below a folder but those below a folder called `without`.
fn sources(folder: &Path, without: Option<&str>) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            if without.is_none_or(|without| !path.ends_with(without)) {
                text += &sources(&path, without);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(&path).expect("the file can be read");
        }
    }
    text
}

/// The functions of the driver that stand after `before` in a text.
fn functions<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let names = text.split(before).skip(1).filter_map(|rest| {
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        let capital = name.strip_prefix("cu")?.chars().next()?;
        capital.is_ascii_uppercase().then_some(name)
    });
    names.collect()
}

#[test]
fn what_gpu_runtime_calls_is_in_the_chapters_proper_and_the_rest_is_with_other_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let runtime = sources(&root.join("../gpu-runtime/src"), None);
    let proper = sources(&root.join("src/api"), Some("other_programs"));
    let others = sources(&root.join("src/api/other_programs"), None);

    let chapters = functions(&proper, " fn ");
    let elsewhere = functions(&others, " fn ");
    let called: BTreeSet<_> = functions(&runtime, ".")
        .into_iter()
        .filter(|name| chapters.contains(name) || elsewhere.contains(name))
        .collect();
    assert!(called.len() > 50, "gpu-runtime calls the driver by the names of its functions");

    let astray: Vec<_> = called.intersection(&elsewhere).collect();
    assert!(
        astray.is_empty(),
        "gpu-runtime calls these: move them out of other_programs {astray:?}"
    );
    // A function of a chapter proper may serve another one, which then names it.
    let serves = |name: &str| proper.matches(&format!("{name}(")).count() > 1;
    let idle: Vec<_> = chapters.difference(&called).filter(|name| !serves(name)).collect();
    assert!(idle.is_empty(), "gpu-runtime calls none of these: they go to other_programs {idle:?}");
}

#[test]
fn the_chapters_proper_use_nothing_of_other_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for room in ["arguments", "code", "devices", "graphs", "memory", "streams"] {
        let text = sources(&root.join("src/api").join(room), None);
        assert!(!text.contains("other_programs"), "{room}");
    }
}
