//! Functions by name and version.
//!
//! `names.txt` says which exported function a name means from which version on. It agrees with
//! NVIDIA's cudaTypedefs.h, whose types are called `PFN_NAME_vVERSION`.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{LazyLock, Once};

use cuda_sys::{
    CUDA_VERSION, CUdriverProcAddress_flags as Flags, CUdriverProcAddressQueryResult as Status,
    CUresult, CUuuid, cuuint64_t,
};

use crate::api::arguments::{In, Out};
use crate::api::refused_names::for_each_refused_function;
use crate::api::{Result, exports};
use cuda_check::console;

/// Since CUDA 12.0 what is not found is no error: the function is null, and the status says why.
pub(in crate::api) fn cuGetProcAddress_v2(
    symbol: &str,
    out: Out<*mut c_void>,
    version: c_int,
    flags: cuuint64_t,
    status: Option<Out<Status>>,
) -> Result {
    let (address, answer) = look_up(symbol, version, flags)?;
    out.set(address);
    status.into_iter().for_each(|status| status.set(answer));
    Ok(())
}

pub(in crate::api) fn cuGetProcAddress(
    symbol: &str,
    out: Out<*mut c_void>,
    version: c_int,
    flags: cuuint64_t,
) -> Result {
    let (address, _) = look_up(symbol, version, flags)?;
    out.set(address);
    if address.is_null() { Err(CUresult::CUDA_ERROR_NOT_FOUND) } else { Ok(()) }
}

/// Tables that NVIDIA's libraries ask for and nobody documents: there are none here. Who asks is
/// nearly always a runtime library of NVIDIA's, whose error would not say why; so this does, once.
pub(in crate::api) fn cuGetExportTable(out: Out<*const c_void>, id: In<CUuuid>) -> Result {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let id: String =
            id.read().bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        console::say(format_args!("{UNDOCUMENTED} (asked for: table {id})"));
    });
    out.set(ptr::null());
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

/// The advice for programs with NVIDIA's runtime library.
const UNDOCUMENTED: &str = "NVIDIA's CUDA runtime library is in this program or beside it, and asks \
    for tables of the driver that are not documented (cuGetExportTable); use the libcudart.so that \
    lies beside this libcuda.so.1, with programs that nvcc linked by `-cudart shared`";

/// The function that a name means from some version on.
struct Meaning {
    since: c_int,
    address: FunctionAddress,
    /// The variant for which stream 0 is the thread's own, and the version it came with.
    per_thread: Option<(c_int, FunctionAddress)>,
}

#[derive(Clone, Copy)]
struct FunctionAddress(*const c_void);

// SAFETY: it is the address of a function of this library, which any thread may call and nothing
// writes to.
unsafe impl Send for FunctionAddress {}

// SAFETY: a shared address of a function can be copied out and nothing else; functions may be
// called from several threads at once.
unsafe impl Sync for FunctionAddress {}

/// The meanings of each name, oldest first.
static MEANINGS: LazyLock<HashMap<&str, Vec<Meaning>>> = LazyLock::new(|| {
    let addresses: HashMap<_, _> = exported().collect();
    let mut meanings = HashMap::<_, Vec<_>>::new();
    for ListedName { name, since, exported, per_thread } in lines().filter(|line| line.since > 0) {
        let Some(&address) = addresses.get(exported) else { continue };
        let per_thread = per_thread
            .and_then(|(since, variant)| addresses.get(variant).map(|&address| (since, address)));
        meanings.entry(name).or_default().push(Meaning { since, address, per_thread });
    }
    meanings
});

/// A line of the list.
struct ListedName {
    name: &'static str,
    since: c_int,
    exported: &'static str,
    per_thread: Option<(c_int, &'static str)>,
}

fn lines() -> impl Iterator<Item = ListedName> {
    let lines = include_str!("../../names.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, since) = (words.next()?, words.next()?.parse().ok()?);
        let exported = words.next()?;
        let variant = words.next().and_then(|since| Some((since.parse().ok()?, words.next()?)));
        Some(ListedName { name, since, exported, per_thread: variant })
    })
}

/// Finds the function that a name without its version suffix means to a program of that version.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for unknown flags, and for a version newer than this driver.
fn look_up(symbol: &str, version: c_int, flags: cuuint64_t) -> Result<(*mut c_void, Status)> {
    let per_thread = cuuint64_t::from(Flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.0);
    let legacy = cuuint64_t::from(Flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM.0);
    if flags & !(per_thread | legacy) != 0 || version > CUDA_VERSION as c_int {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let Some(meanings) = MEANINGS.get(symbol) else {
        return Ok((ptr::null_mut(), Status::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
    };
    let Some(meaning) = meanings.iter().rfind(|meaning| meaning.since <= version) else {
        return Ok((ptr::null_mut(), Status::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
    };
    let variant =
        meaning.per_thread.filter(|(since, _)| flags & per_thread != 0 && *since <= version);
    let FunctionAddress(address) = variant.map_or(meaning.address, |(_, address)| address);
    Ok((address.cast_mut(), Status::CU_GET_PROC_ADDRESS_SUCCESS))
}

macro_rules! of_the_table {
    (
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        of_all! { $($name)* $($newer)* }
    };
}

macro_rules! of_the_variants {
    ($(fn $name:ident $arguments:tt -> $result:ty = $original:ident;)*) => { of_all! { $($name)* } };
}

macro_rules! of_all {
    ($($name:ident)*) => {
        &[$((stringify!($name), FunctionAddress(exports::$name as *const c_void)),)*]
    };
}

type NamedFunctions = &'static [(&'static str, FunctionAddress)];

const TABLE: NamedFunctions = cuda_sys::for_each_driver_function!(of_the_table);

const VARIANTS: NamedFunctions = cuda_sys::for_each_per_thread_function!(of_the_variants);

const REFUSED: NamedFunctions = for_each_refused_function!(of_all);

/// The addresses of all exported functions.
fn exported() -> impl Iterator<Item = (&'static str, FunctionAddress)> {
    [TABLE, VARIANTS, REFUSED].into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_exported_is_what_is_listed_and_each_but_once() {
        let mut seen = BTreeSet::new();
        for (name, _) in exported() {
            assert!(seen.insert(name), "{name} is defined twice: run `cargo xtask bindgen`");
        }
        let listed = lines()
            .flat_map(|line| [Some(line.exported), line.per_thread.map(|(_, variant)| variant)]);
        let listed: BTreeSet<_> = listed.flatten().collect();
        let missing: Vec<_> = listed.difference(&seen).collect();
        let unlisted: Vec<_> = seen.difference(&listed).collect();
        assert!(missing.is_empty() && unlisted.is_empty(), "{missing:?} {unlisted:?}");
    }

    #[test]
    fn the_list_goes_from_old_meanings_to_new_ones() {
        let lines: Vec<_> = lines().collect();
        let same_name = |pair: &&[ListedName]| pair[0].name == pair[1].name && pair[0].since > 0;
        for pair in lines.windows(2).filter(same_name) {
            assert!(pair[0].since < pair[1].since, "{}", pair[0].name);
        }
        let names: BTreeSet<_> = lines.iter().map(|line| line.name).collect();
        let runs = lines.chunk_by(|one, next| one.name == next.name).count();
        assert_eq!(names.len(), runs, "lines of one name lie together");
    }
}
