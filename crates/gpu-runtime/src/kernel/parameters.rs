//! The parameters of kernels: how many there are, and how large each is.
//!
//! A driver before CUDA 12.4 does not tell, so the heads of the kernels are read from the module's text.
//! The crate `ptx` reads all of PTX, but comes with the software driver, which is optional: this
//! reader serves NVIDIA's driver in builds without it, and takes heads that `ptx` would refuse.

use std::collections::HashMap;

use cuda_sys::{CUfunction, CUresult};

use super::module::Module;
use crate::device::{Handle, check};
use crate::error::Result;

/// The sizes of a kernel's parameters, in bytes and in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterSizes(Box<[usize]>);

impl ParameterSizes {
    /// The parameters of a function, as the driver states them (since CUDA 12.4), or else the text
    /// of its module; none if neither does.
    pub(crate) fn of(
        module: &Module,
        function: Handle<CUfunction>,
        name: &str,
    ) -> Result<Option<ParameterSizes>> {
        let state = module.state();
        let Some(ask) = state.driver.cuFuncGetParamInfo else {
            return Ok(module.declared().of(name).cloned());
        };
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut bytes) = (0, 0);
            // SAFETY: both are writable, and the function's module is loaded.
            match unsafe { ask(function.0, sizes.len(), &mut offset, &mut bytes) } {
                CUresult::CUDA_SUCCESS => sizes.push(bytes),
                // There are no more.
                CUresult::CUDA_ERROR_INVALID_VALUE => {
                    return Ok(Some(ParameterSizes(sizes.into())));
                }
                CUresult::CUDA_ERROR_NOT_SUPPORTED => {
                    return Ok(module.declared().of(name).cloned());
                }
                result => check::on_device(state, "cuFuncGetParamInfo", result)?,
            }
        }
    }

    pub(crate) fn sizes(&self) -> &[usize] {
        &self.0
    }
}

/// The parameters of kernels as a text of PTX declares them.
#[derive(Debug, Default)]
pub(crate) struct Declared(HashMap<String, ParameterSizes>);

impl Declared {
    /// Reads a text as far as kernels' heads go. Of a head that it does not understand it knows
    /// nothing: the driver has compiled the text, and says what is wrong with it.
    pub(crate) fn in_ptx(text: &[u8]) -> Declared {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let text = without_comments(&String::from_utf8_lossy(&text[..end]));
        let mut known = HashMap::new();
        let mut tokens = Tokens(&text);
        while let Some(token) = tokens.next() {
            if token == ".entry"
                && let Some(name) = tokens.next()
                && let Some(parameters) = parameters(&mut tokens)
            {
                known.insert(name.to_owned(), parameters);
            }
        }
        Declared(known)
    }

    fn of(&self, name: &str) -> Option<&ParameterSizes> {
        self.0.get(name)
    }
}

/// The parameters in the parentheses that come next, if any do.
fn parameters(tokens: &mut Tokens<'_>) -> Option<ParameterSizes> {
    let mut sizes = Vec::new();
    if tokens.clone().next()? != "(" {
        return Some(ParameterSizes(sizes.into()));
    }
    tokens.next();
    if tokens.clone().next()? == ")" {
        return Some(ParameterSizes(sizes.into()));
    }
    loop {
        let (bytes, end) = parameter(tokens)?;
        sizes.push(bytes);
        match end {
            ")" => return Some(ParameterSizes(sizes.into())),
            "," => {}
            _ => return None,
        }
    }
}

/// The size of the parameter that comes next, and what ends it.
fn parameter<'a>(tokens: &mut Tokens<'a>) -> Option<(usize, &'a str)> {
    if tokens.next()? != ".param" {
        return None;
    }
    let mut element = None;
    loop {
        match tokens.next()? {
            ".align" => {
                tokens.next()?;
            }
            // What a pointer points to.
            ".ptr" | ".const" | ".global" | ".local" | ".shared" => {}
            token if token.starts_with('.') => element = Some(bytes_of(token)?),
            _name => break,
        }
    }
    let mut bytes = element?;
    loop {
        match tokens.next()? {
            "[" => bytes = number(tokens.next()?)?.checked_mul(bytes)?,
            "]" => {}
            end => return Some((bytes, end)),
        }
    }
}

/// The size of a type.
fn bytes_of(name: &str) -> Option<usize> {
    let bits = name.trim_start_matches(|char: char| !char.is_ascii_digit());
    match (name, bits) {
        (".texref" | ".samplerref" | ".surfref", _) => Some(8),
        (".f16x2" | ".bf16x2", _) => Some(4),
        (".bf16", _) => Some(2),
        (_, "8" | "16" | "32" | "64" | "128") => Some(bits.parse::<usize>().ok()? / 8),
        _ => None,
    }
}

/// A number as PTX writes it.
fn number(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches('U');
    match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => usize::from_str_radix(&digits[2..], 16).ok(),
        [b'0', b'b' | b'B', ..] => usize::from_str_radix(&digits[2..], 2).ok(),
        [b'0', _, ..] => usize::from_str_radix(digits, 8).ok(),
        _ => digits.parse().ok(),
    }
}

/// The same text with a space for each comment.
fn without_comments(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = next_comment(rest) {
        kept.push_str(&rest[..begin]);
        kept.push(' ');
        let (inside, end) = match rest[begin..].starts_with("//") {
            true => (&rest[begin..], "\n"),
            false => (&rest[begin + 2..], "*/"),
        };
        rest = inside.find(end).map_or("", |at| &inside[at + end.len()..]);
    }
    kept.push_str(rest);
    kept
}

/// The position of the first comment.
fn next_comment(text: &str) -> Option<usize> {
    // One pass that ends at the comment: a search for each of the two signs would go through the
    // whole text for the one that it lacks, again for each comment.
    let is_comment = |at: &usize| matches!(text.as_bytes().get(at + 1), Some(b'/' | b'*'));
    text.match_indices('/').map(|(at, _)| at).find(is_comment)
}

/// The tokens of a text, as far as kernels' heads have any: words, and signs of one character.
#[derive(Clone)]
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let first = text.chars().next()?;
        let is_of_word = |char: char| char.is_ascii_alphanumeric() || "_$%".contains(char);
        let length = match first {
            '.' => 1 + text[1..].find(|char| !is_of_word(char)).unwrap_or(text.len() - 1),
            first if is_of_word(first) => text.find(|char| !is_of_word(char)).unwrap_or(text.len()),
            sign => sign.len_utf8(),
        };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::Declared;

    fn sizes(text: &str, name: &str) -> Option<Vec<usize>> {
        Declared::in_ptx(text.as_bytes()).of(name).map(|known| known.sizes().to_vec())
    }

    #[test]
    fn the_heads_of_kernels_say_what_they_take() {
        let text = "
            .version 8.0 // .entry not_me(.param .u8 a)
            /* nor .entry me */
            .visible .entry none { ret; }
            .entry empty() { ret; }
            .visible .entry all(
                .param .u8 a, .param .s16 b, .param .f32 c, .param .b64 d,
                .param .u64 .ptr .global .align 16 e,
                .param .align 8 .b8 f[24], .param .align 4 .b8 g[0x10],
                .param .b16 h[3]) .maxntid 256, 1, 1 { ret; }
            .visible .func (.param .b32 r) helper(.param .b32 x) { ret; }
            .weak .entry $odd_name%1(.param .u32 odd_name_param_0) { ret; }
        ";
        assert_eq!(sizes(text, "none"), Some(vec![]));
        assert_eq!(sizes(text, "empty"), Some(vec![]));
        assert_eq!(sizes(text, "all"), Some(vec![1, 2, 4, 8, 8, 24, 16, 6]));
        assert_eq!(sizes(text, "$odd_name%1"), Some(vec![4]));
        for other in ["not_me", "me", "helper"] {
            assert_eq!(sizes(text, other), None, "{other}");
        }
    }

    #[test]
    fn of_a_head_that_is_not_understood_nothing_is_known() {
        for head in ["(.param .b8", "(.reg .b32 a)", "(.param .what a)", "(.param .b8 a[x])", "(;"]
        {
            assert_eq!(sizes(&format!(".entry k{head} {{ }}"), "k"), None, "{head}");
        }
        assert_eq!(sizes(".entry", "k"), None);
    }

    #[test]
    #[cfg(feature = "software")]
    fn a_text_says_what_the_driver_says() {
        use crate::{Device, DriverChoice, choose_driver};

        choose_driver(DriverChoice::Software { devices: None }).expect("no other one is in use");
        let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/ptx");
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx");
        let mut compared = 0;
        for file in [kernels, own].iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
            let path = file.expect("the folder can be read").path();
            if path.extension().is_none_or(|extension| extension != "ptx") {
                continue;
            }
            let text = std::fs::read(&path).expect("the file can be read");
            let module = Device::get(0).unwrap().load(&text).expect("it loads");
            for (name, declared) in Declared::in_ptx(&text).0 {
                let function = module.function(&name).expect("the kernel exists");
                let told = function.parameters().expect("the driver tells");
                assert_eq!(told, declared.sizes(), "{name} in {}", path.display());
                compared += 1;
            }
        }
        assert!(compared > 10, "{compared} kernels");
    }
}
