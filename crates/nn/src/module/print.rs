//! The printed form of modules, which is PyTorch's.

use std::fmt;

use super::{Module, children};

/// The name that a list of modules has in the printed form, in which equal neighbours are one line.
pub(crate) const LIST: &str = "ModuleList";

impl fmt::Display for dyn Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printed(self))
    }
}

impl fmt::Debug for dyn Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The printed form, without a line break at its end.
fn printed(module: &(dyn Module + 'static)) -> String {
    let (name, extra) = (module.type_name(), module.extra_repr());
    let printed = children(module).into_iter().map(|(name, child)| (name, printed(child)));
    let inside: Vec<String> = match name {
        LIST => runs(printed).iter().map(|(name, text)| line(name, text)).collect(),
        _ => printed.map(|(name, text)| line(&name, &text)).collect(),
    };
    let extra: Vec<_> = extra.lines().map(ToOwned::to_owned).collect();
    if inside.is_empty() && extra.len() <= 1 {
        return format!("{name}({})", extra.concat());
    }
    let lines = [extra, inside].concat();
    format!("{name}(\n  {}\n)", lines.join("\n  "))
}

/// A module inside, its further lines moved to the right.
fn line(name: &str, text: &str) -> String {
    format!("({name}): {}", text.replace('\n', "\n  "))
}

/// The members of a list, equal neighbours as one: `0-2` and `3 x ..`.
fn runs(members: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut runs: Vec<(String, String, String, usize)> = Vec::new();
    for (name, text) in members {
        match runs.last_mut() {
            Some((_, last, same, count)) if *same == text => {
                *last = name;
                *count += 1;
            }
            _ => runs.push((name.clone(), name, text, 1)),
        }
    }
    let run = |(first, last, text, count)| match count {
        1 => (first, text),
        count => (format!("{first}-{last}"), format!("{count} x {text}")),
    };
    runs.into_iter().map(run).collect()
}
