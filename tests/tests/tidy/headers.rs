//! Every source says at its top what it is for.

use crate::workspace::{assert_none, rust_files};

fn has_header(source: &str) -> bool {
    source.starts_with("//! ")
}

#[test]
fn every_source_says_what_it_is_for() {
    let sources = rust_files();
    let bare = sources.iter().filter(|file| !file.is_test() && !has_header(&file.text));
    assert_none(&bare.map(|file| format!("{} does not begin with `//!`", file.path)).collect::<Vec<_>>());
}

#[test]
fn a_source_without_a_header_is_found() {
    assert!(has_header("//! What it is.\nfn f() {}"));
    for source in ["", "fn f() {}", "// A comment.\n", "use std::fs;\n//! Late.", "//!\nfn f() {}"] {
        assert!(!has_header(source), "{source:?}");
    }
}
