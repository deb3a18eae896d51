//! Instructions that stand for several others: they are read as those, so that nothing behind the
//! parser need know them.

mod alloca;
mod bulk;
mod cluster;
mod copies;
mod expander;
mod matrix;
mod mbarrier;
mod packed;
mod tf32;
mod vector_atomic;
mod wmma;
mod writer;

use crate::error::Error;
pub(super) use expander::Expander;

/// Reads the operands of an instruction that stands for several, and adds these to the function;
/// whether it is one.
pub(super) fn expand(expander: &mut Expander<'_, '_>, text: &str) -> Result<bool, Error> {
    let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
    match (name, modifiers) {
        ("elect", "sync") => cluster::elect(expander)?,
        ("barrier", rest) if rest.starts_with("cluster.") => cluster::barrier(expander, rest)?,
        ("mapa", _) => cluster::map_to_block(expander, modifiers)?,
        ("getctarank", _) => cluster::rank_of_address(expander, modifiers)?,
        ("createpolicy", _) => cluster::cache_policy(expander)?,
        ("alloca", "u64") => alloca::alloca(expander)?,
        ("stacksave", "u64") => alloca::save(expander)?,
        ("stackrestore", "u64") => alloca::restore(expander)?,
        ("mma", _) => matrix::multiply(expander, modifiers)?,
        ("ldmatrix", _) => matrix::load(expander, modifiers)?,
        ("stmatrix", _) => matrix::store(expander, modifiers)?,
        ("movmatrix", _) => matrix::transpose(expander, modifiers)?,
        ("wmma", _) if modifiers.starts_with("load.") => {
            wmma::load(expander, &modifiers["load.".len()..])?
        }
        ("wmma", _) if modifiers.starts_with("store.") => {
            wmma::store(expander, &modifiers["store.".len()..])?
        }
        ("wmma", _) if modifiers.starts_with("mma.") => {
            wmma::multiply(expander, &modifiers["mma.".len()..])?
        }
        ("mbarrier", _) => mbarrier::read(expander, modifiers)?,
        ("cp", _) if modifiers.starts_with("async.bulk.") => {
            bulk::read(expander, &modifiers["async.bulk.".len()..])?
        }
        ("cp", _) if modifiers.starts_with("async.mbarrier.") => {
            mbarrier::copies_arrive(expander, &modifiers["async.mbarrier.".len()..])?
        }
        ("cp", _) if modifiers.starts_with("async.") => {
            copies::asynchronous(expander, &modifiers["async.".len()..])?
        }
        ("cvt", _) => return tf32::convert(expander, modifiers),
        ("add" | "min" | "max", _) => return packed::arithmetic(expander, text),
        ("vabsdiff2" | "vabsdiff4", _) => return packed::differences(expander, text),
        ("atom" | "red", _) => return vector_atomic::read(expander, text),
        _ => return Ok(false),
    }
    Ok(true)
}
