//! The policy that a device's allocator follows.

use std::fmt;

use crate::policy::PytorchOptions;

/// The policy that a device's allocator follows. As a text it is what
/// [`name`](PolicyInUse::name) says, and the options that are not PyTorch's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PolicyInUse {
    /// Sluice's own: [`Stitched`](crate::policy::Stitched).
    Stitched,
    /// PyTorch's: [`Pytorch`](crate::policy::Pytorch), with these options.
    Pytorch(PytorchOptions),
    /// A [`Suballocator`](crate::policy::Suballocator) of the program's.
    Suballocated,
}

impl PolicyInUse {
    /// The name that `SLUICE_ALLOCATOR` has for it: `stitched`, `pytorch` or `pytorch-expandable`; and
    /// `suballocated`, which cannot be asked for there.
    pub fn name(&self) -> &'static str {
        match self {
            PolicyInUse::Stitched => "stitched",
            PolicyInUse::Pytorch(options) if options.expandable_segments() => "pytorch-expandable",
            PolicyInUse::Pytorch(_) => "pytorch",
            PolicyInUse::Suballocated => "suballocated",
        }
    }
}

impl fmt::Display for PolicyInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let PolicyInUse::Pytorch(options) = self else { return Ok(()) };
        let rest = options.clone().with_expandable_segments(false);
        if rest == PytorchOptions::default() { Ok(()) } else { write!(f, " ({rest})") }
    }
}
