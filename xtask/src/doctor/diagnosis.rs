//! One thing that the doctor looked at.

use std::fmt;

/// Displayed as a name, the lines of its state beside it, and a line that says what to do.
pub(super) struct Diagnosis {
    name: String,
    state: String,
    advice: Option<String>,
}

impl Diagnosis {
    pub(super) fn new(name: impl Into<String>, state: impl Into<String>) -> Diagnosis {
        Diagnosis { name: name.into(), state: state.into(), advice: None }
    }

    /// Adds advice on what to do about it.
    pub(super) fn advice(self, advice: impl Into<String>) -> Diagnosis {
        Diagnosis { advice: Some(advice.into()), ..self }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = self.name.as_str();
        for line in self.state.lines() {
            writeln!(f, "  {name:<28}{line}")?;
            name = "";
        }
        if let Some(advice) = &self.advice {
            writeln!(f, "  {name:<28}-> {advice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_beside_the_name() {
        let entry = Diagnosis::new("nvcc", "not here\ntried a, b").advice("install it");
        let expected = [("nvcc", "not here"), ("", "tried a, b"), ("", "-> install it")]
            .map(|(name, line)| format!("  {name:<28}{line}\n"));
        assert_eq!(entry.to_string(), expected.concat());
    }
}
