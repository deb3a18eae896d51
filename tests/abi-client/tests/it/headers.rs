//! What the two headers declare: the same, but for what is listed.

use abi_client::{declarations, differences, sources};

const INTENDED: &str = include_str!("../../differences.txt");

#[test]
fn the_headers_differ_where_it_is_intended_and_nowhere_else() {
    let theirs = sources::theirs().expect("cargo has fetched cuda-driver-sys");
    let (types, functions) = sources::ours();
    let mut found =
        differences::found(&declarations::constants(&theirs), &declarations::constants(types));
    found.extend(differences::found(
        &declarations::functions(&theirs),
        &declarations::functions(functions),
    ));
    let intended = differences::intended(INTENDED).expect("lines of four parts");
    let new: Vec<_> = found.difference(&intended).map(ToString::to_string).collect();
    let gone: Vec<_> = intended.difference(&found).map(ToString::to_string).collect();
    assert!(new.is_empty(), "not in differences.txt:\n{}", new.join("\n"));
    assert!(gone.is_empty(), "in differences.txt, but they do not differ:\n{}", gone.join("\n"));
}

/// Without this, a reader that finds nothing would make the comparison succeed.
#[test]
fn the_comparison_is_of_many_names() {
    let theirs = sources::theirs().expect("cargo has fetched cuda-driver-sys");
    let (types, functions) = sources::ours();
    for (theirs, ours) in [
        (declarations::constants(&theirs), declarations::constants(types)),
        (declarations::functions(&theirs), declarations::functions(functions)),
    ] {
        let both = ours.keys().filter(|name| theirs.contains_key(*name)).count();
        assert!(both >= 140, "{both} of {}", ours.len());
    }
}

#[test]
fn the_library_has_every_function_that_cuda_sys_lists() {
    let driver = cuda_sys::Driver::load().expect("the library on LD_LIBRARY_PATH is complete");
    assert!(driver.cuGetProcAddress_v2.is_some() && driver.cuStreamGetId.is_some());
}
