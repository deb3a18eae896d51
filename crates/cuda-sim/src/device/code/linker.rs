//! A linker of PTX. What it makes is PTX again: there is no machine code here.

use std::ffi::CString;

use cuda_sys::CUresult;

use super::image::{self, ImageError};

/// The state of a linker.
pub(crate) struct Linker {
    inputs: Vec<String>,
    output: Option<CString>,
    report: Box<dyn Fn(&str) + Send>,
}

impl Linker {
    /// A linker without inputs, and where its messages go.
    pub(crate) fn new(report: Box<dyn Fn(&str) + Send>) -> Linker {
        Linker { inputs: Vec::new(), output: None, report }
    }

    /// Adds PTX, or a fat binary with PTX in it.
    ///
    /// # Errors
    /// Those of [`image::load_bytes`].
    pub(crate) fn add(&mut self, image: Vec<u8>, capability: u32) -> Result<(), CUresult> {
        let text = image::text_of_bytes(image, capability);
        let read = text.and_then(|text| image::program(&text, capability).map(|_| text));
        self.inputs.push(read.map_err(|refusal| self.refused(&refusal))?);
        self.output = None;
        (self.report)("");
        Ok(())
    }

    /// Links what was added; the result belongs to the linker.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` without inputs, `CUDA_ERROR_INVALID_PTX` for inputs that do not
    /// make one text.
    pub(crate) fn complete(&mut self, capability: u32) -> Result<&CString, CUresult> {
        if self.inputs.is_empty() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let text = join(&self.inputs);
        image::program(&text, capability).map_err(|refusal| self.refused(&refusal))?;
        (self.report)("");
        let output = CString::new(text).map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX)?;
        Ok(self.output.insert(output))
    }

    /// Reports why something is refused; gives the error for the program.
    pub(crate) fn refused(&self, refusal: &ImageError) -> CUresult {
        tracing::warn!("{}", refusal.reason);
        (self.report)(&refusal.reason);
        refusal.error
    }
}

/// One text of several: the directives at the head come from the first, the version from the
/// newest. Names that several define are an error of the whole.
fn join(inputs: &[String]) -> String {
    let [first, others @ ..] = inputs else { return String::new() };
    let newest = inputs.iter().filter_map(|input| version(input)).max();
    let mut text = match (version(first), newest) {
        (Some(own), Some(newest)) if own < newest => {
            let (before, after) = first.split_once(".version").unwrap_or(("", first));
            let rest =
                after.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            format!("{before}.version {}.{}{rest}", newest.0, newest.1)
        }
        _ => first.clone(),
    };
    for input in others {
        let is_head = |line: &&str| {
            let word = line.split_whitespace().next();
            matches!(word, Some(".version" | ".target" | ".address_size"))
        };
        text.push('\n');
        text.extend(input.lines().filter(|line| !is_head(line)).flat_map(|line| [line, "\n"]));
    }
    text
}

fn version(text: &str) -> Option<(u32, u32)> {
    let after = text.split_once(".version")?.1;
    let (major, minor) = after.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_texts_have_one_head_with_the_newest_version() {
        let first = ".version 7.0\n.target sm_50\n.address_size 64\none\n";
        let second = "// comment\n.version 8.2\n.target sm_75\n.address_size 64\ntwo";
        let joined = join(&[first.into(), second.into()]);
        let expected = ".version 8.2\n.target sm_50\n.address_size 64\none\n\n// comment\ntwo\n";
        assert_eq!(joined, expected);
        assert_eq!(join(&[first.into()]), first);
    }
}
