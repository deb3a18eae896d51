//! Tests of the front end as a whole.

use super::*;

#[test]
fn scratch() {
    let source = std::fs::read_to_string("/tmp/b/a.ptx").unwrap();
    let now = std::time::Instant::now();
    match parse(&source) {
        Ok(module) => println!("{} functions", module.functions.len()),
        Err(error) => panic!("{error}"),
    }
    println!("{:?}", now.elapsed());
}
