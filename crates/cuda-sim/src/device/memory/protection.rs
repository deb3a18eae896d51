//! What may be done to memory from somewhere.

use ptx_jit::AccessKind;

/// The access that a device or the host has to memory (`CUmemAccess_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Protection {
    #[default]
    None,
    Read,
    ReadWrite,
}

impl Protection {
    /// Whether it permits such an access.
    pub(crate) fn permits(self, access: AccessKind) -> bool {
        match access {
            AccessKind::Read => self >= Protection::Read,
            AccessKind::Write | AccessKind::Atomic => self == Protection::ReadWrite,
        }
    }
}
