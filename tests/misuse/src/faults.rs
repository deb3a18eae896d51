//! The faults of a case, and the lines by which children report them to their parent.

use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;

/// A way in which a case goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CaseFaultKind {
    Panic,
    Abort,
    Hang,
    /// Memory that is still allocated afterwards.
    Leak,
    /// A result that no order of a program's steps gives.
    Wrong,
}

impl CaseFaultKind {
    pub(crate) const ALL: [CaseFaultKind; 5] = [
        CaseFaultKind::Panic,
        CaseFaultKind::Abort,
        CaseFaultKind::Hang,
        CaseFaultKind::Leak,
        CaseFaultKind::Wrong,
    ];

    fn name(self) -> &'static str {
        match self {
            CaseFaultKind::Panic => "panic",
            CaseFaultKind::Abort => "abort",
            CaseFaultKind::Hang => "hang",
            CaseFaultKind::Leak => "leak",
            CaseFaultKind::Wrong => "wrong",
        }
    }

    /// The plural, which the last line uses.
    pub(crate) fn plural(self) -> String {
        if self == CaseFaultKind::Wrong { self.to_string() } else { format!("{self}s") }
    }
}

impl fmt::Display for CaseFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseFault {
    pub(crate) kind: CaseFaultKind,
    pub(crate) case: u64,
    /// A case that was tried, and its known results.
    pub(crate) text: String,
}

const MARK: &str = "FAULT";

impl CaseFault {
    /// The line of a child's output that reports the fault.
    pub(crate) fn line(&self) -> String {
        format!("{MARK} {} {} {}", self.kind, self.case, self.text.replace('\n', " | "))
    }

    /// The fault that a line of a child's output reports.
    pub(crate) fn of_line(line: &str) -> Option<CaseFault> {
        let mut words = line.strip_prefix(MARK)?.trim_start().splitn(3, ' ');
        let name = words.next()?;
        let kind = CaseFaultKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let case = words.next()?.parse().ok()?;
        Some(CaseFault { kind, case, text: words.next().unwrap_or_default().to_owned() })
    }
}

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Has panics of all threads noted instead of printed.
pub(crate) fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a thread").to_owned();
        let text = format!("{panic} (in {name})");
        PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }));
}

/// The panics since the last call.
pub(crate) fn take_panics() -> Vec<String> {
    std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_as_it_was_written() {
        for kind in CaseFaultKind::ALL {
            let fault = CaseFault { kind, case: 7, text: "tensor::Tensor::cat: index 3".into() };
            assert_eq!(CaseFault::of_line(&fault.line()), Some(fault));
        }
        assert_eq!(CaseFault::of_line("  tensor [2, 3]"), None);
        assert_eq!(CaseFault::of_line("FAULT"), None);
    }
}
