//! A linker of PTX. What it makes is PTX again: there is no machine code here.

use std::ffi::CString;

use cuda_sys::CUresult;
use ptx::{LinkError, LinkInput};

use super::image::{self, ImageError};
use super::objects::{self, NamedText};
use super::runtime_functions;
use cuda_check::console;

/// The state of a linker.
pub(crate) struct Linker {
    inputs: Vec<NamedText>,
    /// The registers that a thread of a kernel may have, if the program says so.
    max_registers: Option<u32>,
    output: Option<CString>,
    report: Box<dyn Fn(&str) + Send>,
}

impl Linker {
    /// A linker without inputs, and where its messages go.
    pub(crate) fn new(max_registers: Option<u32>, report: Box<dyn Fn(&str) + Send>) -> Linker {
        Linker { inputs: Vec::new(), max_registers, output: None, report }
    }

    /// Adds PTX, or a fat binary, an object of the host or an archive of those with PTX in them. Of a
    /// library only what others need is linked.
    ///
    /// # Errors
    /// Those of [`objects::texts`], `CUDA_ERROR_INVALID_PTX` for a text that is malformed, and
    /// `CUDA_ERROR_INVALID_SOURCE` for one that defines what another does.
    pub(crate) fn add(
        &mut self,
        image: Vec<u8>,
        name: &str,
        is_library: bool,
        capability: u32,
    ) -> Result<(), CUresult> {
        let texts = objects::texts(image, name, is_library, capability);
        let texts = texts.map_err(|refusal| self.refused(&refusal))?;
        for NamedText { name, text, .. } in &texts {
            image::check_unlinked(name, text).map_err(|refusal| self.refused(&refusal))?;
        }
        let before = self.inputs.len();
        self.inputs.extend(texts);
        if let Err(error @ LinkError::Duplicate { .. }) = self.link() {
            self.inputs.truncate(before);
            return Err(self.refused(&image::link_refusal(&error)));
        }
        self.output = None;
        (self.report)("");
        Ok(())
    }

    /// Links what was added; the result belongs to the linker.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` without inputs, `CUDA_ERROR_INVALID_SOURCE` if a name is used and
    /// defined nowhere, `CUDA_ERROR_INVALID_PTX` for inputs that do not fit each other.
    pub(crate) fn complete(&mut self, capability: u32) -> Result<&CString, CUresult> {
        if self.inputs.is_empty() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let text = self.link().map_err(|error| self.refused(&image::link_refusal(&error)))?;
        let text = match self.max_registers {
            None => text,
            Some(registers) => ptx::with_max_registers(&text, registers)
                .map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX)?,
        };
        image::program(&text, capability).map_err(|refusal| self.refused(&refusal))?;
        (self.report)("");
        let output = CString::new(text).map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX)?;
        Ok(self.output.insert(output))
    }

    fn link(&self) -> Result<String, LinkError> {
        let inputs = self.inputs.iter().map(|NamedText { name, text, is_library }| LinkInput {
            name,
            text,
            is_library: *is_library,
        });
        let inputs: Vec<_> = inputs.chain([runtime_functions::INPUT]).collect();
        ptx::link(&inputs)
    }

    /// Reports why something is refused; gives the error for the program.
    pub(crate) fn refused(&self, refusal: &ImageError) -> CUresult {
        console::refusal(&refusal.reason);
        (self.report)(&refusal.reason);
        refusal.error
    }
}
