//! PTX in files of the host's compiler: objects, and archives of them, with the fat binaries that nvcc
//! puts there.

use object::read::archive::ArchiveFile;
use object::{Architecture, Object, ObjectSection};

use super::image::{self, ImageError};
use crate::fatbin;
use cuda_check::console;

/// The sections of nvcc's fat binaries: those to be linked, and those that are complete.
const SECTIONS: [&str; 2] = ["__nv_relfatbin", ".nv_fatbin"];

/// A PTX text, and what messages call it.
pub(super) struct NamedText {
    pub(super) name: String,
    pub(super) text: String,
    /// Whether it is taken only if something needs it.
    pub(super) is_library: bool,
}

/// The PTX of an image of any format that a linker takes. Machine code in a library is left out:
/// what is needed of it is missing in the end.
///
/// # Errors
/// `CUDA_ERROR_NO_BINARY_FOR_GPU` for machine code alone; `CUDA_ERROR_INVALID_IMAGE` for an archive
/// or an object that cannot be read; those of [`image::text_of_bytes`].
pub(super) fn texts(
    image: Vec<u8>,
    name: &str,
    is_library: bool,
    capability: u32,
) -> Result<Vec<NamedText>, ImageError> {
    if image.starts_with(b"!<arch>\n") {
        return of_archive(&image, name, capability);
    }
    if image.starts_with(b"\x7fELF") {
        return of_object(&image, name, is_library, capability);
    }
    let text = image::text_of_bytes(image, capability)?;
    Ok(vec![NamedText { name: name.to_owned(), text, is_library }])
}

fn of_archive(archive: &[u8], name: &str, capability: u32) -> Result<Vec<NamedText>, ImageError> {
    let unreadable = |error: object::Error| ImageError::invalid(format!("`{name}`: {error}"));
    let file = ArchiveFile::parse(archive).map_err(unreadable)?;
    let mut texts = Vec::new();
    for member in file.members() {
        let member = member.map_err(unreadable)?;
        let own = format!("{name}({})", String::from_utf8_lossy(member.name()));
        let data = member.data(archive).map_err(unreadable)?;
        match self::texts(data.to_vec(), &own, true, capability) {
            Ok(found) => texts.extend(found),
            Err(error) => console::notice(format_args!("{own} is left out: {}", error.reason)),
        }
    }
    Ok(texts)
}

fn of_object(
    bytes: &[u8],
    name: &str,
    is_library: bool,
    capability: u32,
) -> Result<Vec<NamedText>, ImageError> {
    let unreadable = |error: object::Error| ImageError::invalid(format!("`{name}`: {error}"));
    let file = object::File::parse(bytes).map_err(unreadable)?;
    let sections = SECTIONS.iter().filter_map(|section| file.section_by_name(section));
    let mut texts = Vec::new();
    for section in sections {
        let mut rest = section.data().map_err(unreadable)?;
        // Containers lie one after the other, with zeros between them.
        while let Some(start) = rest.iter().position(|&byte| byte != 0) {
            rest = &rest[start..];
            let header = rest.first_chunk();
            let header = header.ok_or_else(|| ImageError::invalid("a truncated fat binary"))?;
            let length = fatbin::container_bytes(header).map_err(image::refusal)?;
            let container =
                rest.get(..length).ok_or_else(|| ImageError::invalid("a truncated fat binary"))?;
            let text = fatbin::choose(container, capability).map_err(image::refusal)?;
            texts.push(NamedText { name: name.to_owned(), text, is_library });
            rest = &rest[length..];
        }
    }
    if texts.is_empty() {
        let what = match file.architecture() {
            Architecture::Unknown => "machine code for a GPU",
            _ => "an object without device code",
        };
        return Err(ImageError::machine_code(format_args!("`{name}` is {what}")));
    }
    Ok(texts)
}
