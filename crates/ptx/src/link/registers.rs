//! A limit to the registers of all kernels, as compilers are given one for a whole module.

use super::Error;
use crate::lexer::{TokenKind, tokenize};

/// The text with a directive `.maxnreg` at each kernel that has none of its own, which counts more (PTX
/// ISA 9.0, 11.4.1).
///
/// # Errors
/// The first location that is malformed.
///
/// ```
/// let text = ".version 8.0 .target sm_80 .address_size 64 .entry k() { ret; }";
/// let limited = ptx::with_max_registers(text, 32)?;
/// assert_eq!(ptx::parse(&limited)?.functions[0].max_registers, Some(32));
/// # Ok::<(), ptx::Error>(())
/// ```
pub fn with_max_registers(text: &str, registers: u32) -> Result<String, Error> {
    let mut limited = String::with_capacity(text.len());
    let mut copied = 0;
    // Whether a kernel's head is read that says nothing of registers.
    let mut in_head = false;
    for token in tokenize(text)? {
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Directive if &text[start..end] == ".entry" => in_head = true,
            TokenKind::Directive if &text[start..end] == ".maxnreg" => in_head = false,
            TokenKind::Punctuation(b';') => in_head = false,
            TokenKind::Punctuation(b'{') if in_head => {
                limited.push_str(&text[copied..start]);
                limited.push_str(&format!(".maxnreg {registers}\n"));
                copied = start;
                in_head = false;
            }
            _ => {}
        }
    }
    limited.push_str(&text[copied..]);
    Ok(limited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_is_limited_that_has_no_limit_of_its_own() {
        let text = ".version 8.0 .target sm_80 .address_size 64
            .func f() { ret; }
            .entry declared(.param .u32 n);
            .entry plain(.param .u32 n) .maxntid 32 { { ret; } }
            .entry own() .maxnreg 64 { ret; }
            .entry declared(.param .u32 n) { ret; }";
        let limited = with_max_registers(text, 38).expect("it is PTX");
        let module = crate::parse(&limited).expect("it is still PTX");
        let limit = |name: &str| {
            let function = module.functions.iter().find(|function| function.name == name);
            function.expect("it is there").max_registers
        };
        assert_eq!(limit("f"), None);
        assert_eq!(limit("plain"), Some(38));
        assert_eq!(limit("own"), Some(64));
        assert_eq!(limit("declared"), Some(38));
    }
}
