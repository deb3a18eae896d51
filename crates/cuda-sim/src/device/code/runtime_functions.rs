//! The device runtime: functions for kernels, which programs get from `libcudadevrt.a` elsewhere.
//!
//! They are PTX, and linked to what refers to them, in linked modules and in others.

use std::borrow::Cow;

use ptx::{LinkError, LinkInput};

/// Its functions: see the head of the text.
const TEXT: &str = include_str!("runtime_functions.ptx");

/// It as an input that a linker takes only if it is needed.
pub(super) const INPUT: LinkInput<'static> =
    LinkInput { name: "device runtime", text: TEXT, is_library: true };

/// A text with those functions of the device runtime that it refers to.
///
/// # Errors
/// If it refers to what is defined neither there nor in the text. A malformed text is left to whoever
/// reads it.
pub(super) fn linked(text: &str) -> Result<Cow<'_, str>, LinkError> {
    if !text.contains(".extern") {
        return Ok(Cow::Borrowed(text));
    }
    match ptx::undefined_names(text) {
        Ok(names) if !names.is_empty() => {
            let own = LinkInput { name: "the module", text, is_library: false };
            ptx::link(&[own, INPUT]).map(Cow::Owned)
        }
        _ => Ok(Cow::Borrowed(text)),
    }
}
