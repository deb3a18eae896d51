//! The values in a pickle by name: keys and positions, with dots between them.

use pickle::PickleValue;

/// The most dictionaries and lists that are in each other.
const MAX_DEPTH: usize = 64;

/// Calls of functions in a pickle, each with its name.
pub(super) type NamedCalls<'a> = Vec<(String, PickleValue<'a>)>;

/// The calls that a pickle holds, by name. `most` bounds the number of values that are looked at and
/// the length of all names: parts may be in each other, and met any number of times.
///
/// # Errors
/// What is wrong with the pickle.
pub(super) fn calls(root: PickleValue<'_>, most: usize) -> Result<NamedCalls<'_>, &'static str> {
    let mut walk = NameWalk { calls: Vec::new(), left: most };
    walk.visit(root, String::new(), 0)?;
    Ok(walk.calls)
}

struct NameWalk<'a> {
    calls: NamedCalls<'a>,
    left: usize,
}

impl<'a> NameWalk<'a> {
    fn visit(
        &mut self,
        value: PickleValue<'a>,
        name: String,
        depth: usize,
    ) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("more than 64 dictionaries and lists are in each other");
        }
        let left = self.left.checked_sub(1 + name.len());
        self.left = left.ok_or("it repeats the same parts again and again")?;
        if value.call().is_some() {
            self.calls.push((name, value));
        } else if let Some(entries) = value.entries() {
            for (key, value) in entries {
                if let Some(key) = key_of(key) {
                    self.visit(value, joined(&name, &key), depth + 1)?;
                }
            }
        } else if let Some(items) = value.items() {
            for (index, item) in items.enumerate() {
                self.visit(item, joined(&name, &index.to_string()), depth + 1)?;
            }
        }
        Ok(())
    }
}

/// A key as a part of a name. Others than texts and numbers belong to no tensors.
fn key_of(key: PickleValue<'_>) -> Option<String> {
    match key.text() {
        Some(text) => Some(text.to_string()),
        None => key.int().map(|number| number.to_string()),
    }
}

fn joined(name: &str, part: &str) -> String {
    if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") }
}
