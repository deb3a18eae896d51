//! The beginning of an array: which dtype, which shape, which order.

use super::literal::PythonLiteral;

/// The first bytes of every file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes of a header; NumPy itself takes no more.
const MAX_HEADER: usize = 10_000;

/// Elements begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// The header of an array.
#[derive(Debug, PartialEq)]
pub(super) struct ArrayHeader {
    /// The dtype, as NumPy writes it.
    pub(super) descr: String,
    pub(super) shape: Vec<usize>,
    /// Whether the first index is the one that changes fastest.
    pub(super) is_by_columns: bool,
}

/// The header of an array, and the bytes of its elements.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<(ArrayHeader, &[u8]), String> {
    const EARLY: &str = "it ends within the header";
    let rest = bytes.strip_prefix(MAGIC).ok_or("it does not begin with \\x93NUMPY")?;
    let ([major, minor], rest) = rest.split_first_chunk().ok_or(EARLY)?;
    let (length, rest) = match (major, minor) {
        (1, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or(EARLY)?;
            (u32::from(u16::from_le_bytes(*length)), rest)
        }
        (2 | 3, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or(EARLY)?;
            (u32::from_le_bytes(*length), rest)
        }
        _ => return Err(format!("its version is {major}.{minor}, and 1.0 to 3.0 are known")),
    };
    if length as usize > MAX_HEADER {
        return Err(format!("its header would have {length} bytes"));
    }
    let (header, data) = rest.split_at_checked(length as usize).ok_or(EARLY)?;
    Ok((parse(header)?, data))
}

/// Reads what NumPy writes: a dictionary of exactly these three keys.
fn parse(header: &[u8]) -> Result<ArrayHeader, String> {
    let (mut descr, mut order, mut shape) = (None, None, None);
    for (key, value) in PythonLiteral::dictionary(header)? {
        match (key.as_str(), value) {
            ("descr", PythonLiteral::Text(text)) => descr = Some(text),
            ("descr", PythonLiteral::List) => {
                return Err("it has records, and no numbers".to_owned());
            }
            ("fortran_order", PythonLiteral::Bool(value)) => order = Some(value),
            ("shape", PythonLiteral::Tuple(sizes)) => shape = Some(sizes),
            _ => return Err(format!("its header has a `{key}` that is not known")),
        }
    }
    match (descr, order, shape) {
        (Some(descr), Some(is_by_columns), Some(shape)) => {
            Ok(ArrayHeader { descr, shape, is_by_columns })
        }
        _ => Err("its header lacks one of `descr`, `fortran_order` and `shape`".to_owned()),
    }
}

/// The header of an array by rows.
pub(super) fn written(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: String = match shape {
        [size] => format!("{size},"),
        sizes => sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The magic, the version, the length, the text and the end of the line.
    let before = MAGIC.len() + 2 + 2;
    let total = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
    // A tensor has 64 dimensions at most, so this is far below what two bytes can say.
    let length = (total - before) as u16;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(length.to_le_bytes());
    header.extend(text.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for shape in [&[][..], &[3], &[2, 0, 5], &[1_000_000_000; 64]] {
            let bytes = [&written("<f4", shape)[..], b"data"].concat();
            assert_eq!((bytes.len() - 4) % ALIGNMENT, 0);
            let (header, data) = read(&bytes).expect("it was written here");
            let expected = ArrayHeader {
                descr: "<f4".to_owned(),
                shape: shape.to_vec(),
                is_by_columns: false,
            };
            assert_eq!((header, data), (expected, &b"data"[..]));
        }
    }

    #[test]
    fn headers_of_other_writers_are_read() {
        let text = b"{\"shape\":(3L,4L,),\"fortran_order\":True,\"descr\":\">i2\"}\n";
        let header = parse(text).expect("a header");
        let expected =
            ArrayHeader { descr: ">i2".to_owned(), shape: vec![3, 4], is_by_columns: true };
        assert_eq!(header, expected);
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for (text, problem) in [
            ("{'descr': '<f4', 'fortran_order': False}", "lacks"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
                "not understood",
            ),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "not understood"),
            ("{'descr': '<f4', 'fortran_order': 'x', 'shape': (3,)}", "`fortran_order`"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "records"),
            ("{'shape': (99999999999999999999,)}", "not understood"),
            ("", "not understood"),
        ] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
