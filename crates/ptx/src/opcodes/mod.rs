//! The opcode table: from an opcode with its modifiers to a typed operation and the operands it
//! takes.

mod atomic;
mod bits;
mod compare;
mod control;
mod convert;
mod float;
mod form;
mod integer;
mod memory;
mod modifiers;
mod warp;

use super::error::ErrorKind;
pub(super) use form::{InstructionForm, OperandKind};
use modifiers::Modifiers;

/// Reads an opcode such as `add.rn.f32`.
pub(super) fn parse(text: &str) -> Result<InstructionForm, ErrorKind> {
    let (name, rest) = text.split_once('.').unwrap_or((text, ""));
    let index =
        OPCODES.binary_search_by_key(&name, |&(known, _)| known).map_err(|_| unsupported(name))?;
    let mut modifiers = Modifiers::new(name, rest)?;
    let has_policy = MEMORY.contains(&name) && modifiers.take("L2::cache_hint");
    let mut form = OPCODES[index].1(&mut modifiers)?;
    if has_policy {
        form.sources.push(OperandKind::Ignored);
    }
    modifiers.finish()?;
    Ok(form)
}

/// The reason why an opcode is not known.
fn unsupported(name: &str) -> ErrorKind {
    const TEXTURES: &[&str] = &["istypep", "suld", "suq", "sured", "sust", "tex", "tld4", "txq"];
    match name {
        "wgmma" | "tcgen05" => ErrorKind::Unsupported("products of matrices by several warps"),
        "cp" => ErrorKind::Unsupported("bulk reductions"),
        "tensormap" => ErrorKind::Unsupported("tensor maps"),
        _ if TEXTURES.contains(&name) => ErrorKind::Unsupported("textures and surfaces"),
        _ => ErrorKind::UnsupportedInstruction,
    }
}

/// The opcodes that may take a cache policy.
const MEMORY: &[&str] = &["atom", "ld", "red", "st"];

type Parse = fn(&mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind>;

/// Sorted by name. `mov`, `call` and branches have operands of their own kind and are read by the
/// parser itself.
const OPCODES: &[(&str, Parse)] = &[
    ("abs", float::unary),
    ("activemask", warp::active_mask),
    ("add", float::sum),
    ("addc", integer::with_carry),
    ("and", bits::logic),
    ("applypriority", memory::line_hint),
    ("atom", atomic::atom),
    ("bar", warp::barrier),
    ("barrier", warp::barrier),
    ("bfe", bits::extract),
    ("bfi", bits::insert),
    ("bfind", bits::find),
    ("bmsk", bits::mask),
    ("brev", bits::unary),
    ("brkpt", control::trap),
    ("clz", bits::count),
    ("cnot", bits::unary),
    ("copysign", float::copy_sign),
    ("cos", float::approximate),
    ("cvt", convert::cvt),
    ("cvta", memory::cvta),
    ("discard", memory::line_hint),
    ("div", float::divide),
    ("dp2a", integer::dot_product),
    ("dp4a", integer::dot_product),
    ("ex2", float::approximate),
    ("exit", control::exit),
    ("fence", memory::fence),
    ("fma", float::fused),
    ("fns", bits::find_counted),
    ("griddepcontrol", control::grid_dependency),
    ("isspacep", memory::is_space),
    ("ld", memory::load),
    ("ldu", memory::load),
    ("lg2", float::approximate),
    ("lop3", bits::logic_table),
    ("mad", integer::multiply_add),
    ("mad24", integer::multiply24),
    ("madc", integer::with_carry),
    ("match", warp::match_lanes),
    ("max", float::min_max),
    ("membar", memory::fence),
    ("min", float::min_max),
    ("mul", integer::multiply),
    ("mul24", integer::multiply24),
    ("nanosleep", control::nanosleep),
    ("neg", float::unary),
    ("not", bits::unary),
    ("or", bits::logic),
    ("pmevent", control::event),
    ("popc", bits::count),
    ("prefetch", memory::hint),
    ("prefetchu", memory::hint),
    ("prmt", bits::permute),
    ("rcp", float::root),
    ("red", atomic::red),
    ("redux", warp::reduce),
    ("rem", integer::remainder),
    ("ret", control::ret),
    ("rsqrt", float::root),
    ("sad", integer::sum_of_differences),
    ("selp", compare::select),
    ("set", compare::set),
    ("setp", compare::set),
    ("shf", bits::funnel),
    ("shfl", warp::shuffle),
    ("shl", bits::shift),
    ("shr", bits::shift),
    ("sin", float::approximate),
    ("slct", compare::select_by_sign),
    ("sqrt", float::root),
    ("st", memory::store),
    ("sub", float::sum),
    ("subc", integer::with_carry),
    ("tanh", float::approximate),
    ("testp", compare::test),
    ("trap", control::trap),
    ("vote", warp::vote),
    ("xor", bits::logic),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPCODES.is_sorted_by_key(|&(name, _)| name));
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        for opcode in
            ["add.rn.s32", "mma.sync.aligned.m8n8k4.f16", "add.f32.f32", "ld.global.b128", "add"]
        {
            assert!(parse(opcode).is_err(), "{opcode}");
        }
    }
}
