//! The folder in which native code is kept between processes, under the names that CUDA's driver has
//! for its own cache.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use ptx_jit::code_cache;

/// CUDA's limit, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// Has native code kept on disk, unless the environment says that it is not to be
/// (`CUDA_CACHE_DISABLE=1`), or where (`CUDA_CACHE_PATH`) and how much of it (`CUDA_CACHE_MAXSIZE`, in
/// bytes). Without a path it is in `cuda-sim` in the user's folder for caches; a user who has none gets
/// no cache.
pub(crate) fn enable() {
    if let Some((folder, max_bytes)) = place(env::var_os) {
        code_cache::keep_in(folder, max_bytes);
    }
}

/// The folder, and the most bytes in it.
fn place(variable: impl Fn(&'static str) -> Option<OsString>) -> Option<(PathBuf, u64)> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("CUDA_CACHE_DISABLE").is_some_and(|value| value != "0") {
        return None;
    }
    let caches = || match set("XDG_CACHE_HOME") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => set("HOME").map(|home| PathBuf::from(home).join(".cache")),
    };
    let folder = set("CUDA_CACHE_PATH").map(PathBuf::from).or_else(caches)?;
    let bytes = set("CUDA_CACHE_MAXSIZE").and_then(|bytes| bytes.to_str()?.parse().ok());
    // A relative path would be another folder in each program.
    let folder = folder.is_absolute().then(|| folder.join("cuda-sim"))?;
    Some((folder, bytes.unwrap_or(MAX_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(variables: &[(&str, &str)]) -> Option<(PathBuf, u64)> {
        let find = |name: &str| variables.iter().find(|variable| variable.0 == name);
        place(|name| find(name).map(|variable| variable.1.into()))
    }

    #[test]
    fn cudas_variables_say_whether_code_is_kept_and_where_and_how_much() {
        let home = ("HOME", "/me");
        assert_eq!(place_of(&[home]), Some(("/me/.cache/cuda-sim".into(), 1 << 30)));
        let cache = ("XDG_CACHE_HOME", "/caches");
        assert_eq!(place_of(&[home, cache]), Some(("/caches/cuda-sim".into(), 1 << 30)));
        let own = [home, ("CUDA_CACHE_PATH", "/own"), ("CUDA_CACHE_MAXSIZE", "1000")];
        assert_eq!(place_of(&own), Some(("/own/cuda-sim".into(), 1000)));
        assert_eq!(place_of(&[home, ("CUDA_CACHE_DISABLE", "1")]), None);
        assert!(place_of(&[home, ("CUDA_CACHE_DISABLE", "0")]).is_some());
        assert_eq!(place_of(&[]), None);
        assert_eq!(place_of(&[("CUDA_CACHE_PATH", "here")]), None);
    }
}
