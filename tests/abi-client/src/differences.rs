//! Where the two headers differ, found and intended.

use std::collections::BTreeSet;
use std::fmt;

use crate::declarations::Declarations;

/// A name that both declare, each in its own way. Displayed as `differences.txt` has it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    name: String,
    theirs: String,
    ours: String,
}

/// The names that the two headers declare differently. A name that only one of them knows is no difference:
/// the API grew between them, and cuda-sys has what Sluice calls and no more.
pub fn found(theirs: &Declarations, ours: &Declarations) -> BTreeSet<Difference> {
    let both = ours.iter().filter_map(|(name, ours)| Some((name, theirs.get(name)?, ours)));
    both.filter(|(_, theirs, ours)| theirs != ours)
        .map(|(name, theirs, ours)| Difference {
            name: name.clone(),
            theirs: theirs.clone(),
            ours: ours.clone(),
        })
        .collect()
}

/// The differences of `differences.txt`: lines of `name | theirs | ours | reason`.
///
/// # Errors
/// If a line is none such; the error is the line.
pub fn intended(text: &str) -> Result<BTreeSet<Difference>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let difference = |line: &str| match line.split(" | ").collect::<Vec<_>>()[..] {
        [name, theirs, ours, reason] if !reason.is_empty() => {
            Ok(Difference { name: name.into(), theirs: theirs.into(), ours: ours.into() })
        }
        _ => Err(line.to_owned()),
    };
    lines.map(difference).collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | {}", self.name, self.theirs, self.ours)
    }
}
