//! The Rust paths a source names, whether in a `use`, in an expression or inside a macro's arguments.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Words that may stand before a path and are not part of it.
const KEYWORDS: [&str; 15] =
    ["use", "as", "in", "return", "mut", "dyn", "impl", "for", "where", "match", "if", "else", "while", "pub", "fn"];

/// Every path of the source, as `std::fs::File`; groups of a `use` are written out. Comments and literals are none.
pub(crate) fn paths(source: &str) -> Vec<String> {
    let mut paths = Vec::new();
    collect(tokens(source), "", &mut paths);
    paths
}

/// The source's tokens.
pub(crate) fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the workspace's sources are Rust")
}

/// `path` is `module` or lies in it.
pub(crate) fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn collect(tokens: TokenStream, prefix: &str, paths: &mut Vec<String>) {
    let mut path = prefix.to_owned();
    let mut colons = if prefix.is_empty() { 0 } else { 2 };
    let finish = |path: &mut String, paths: &mut Vec<String>| {
        if !path.is_empty() && path != prefix {
            paths.push(std::mem::take(path));
        }
        path.clear();
    };
    for token in tokens {
        match token {
            TokenTree::Ident(name) if KEYWORDS.contains(&name.to_string().as_str()) => {
                finish(&mut path, paths);
                colons = 0;
            }
            TokenTree::Ident(name) => {
                if colons != 2 {
                    finish(&mut path, paths);
                }
                if !path.is_empty() {
                    path.push_str("::");
                }
                path.push_str(&name.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Punct(punct) => {
                finish(&mut path, paths);
                colons = 0;
                if punct.as_char() == ',' && !prefix.is_empty() {
                    path.push_str(prefix);
                    colons = 2;
                }
            }
            TokenTree::Group(group) => {
                let is_use = group.delimiter() == Delimiter::Brace && colons == 2 && !path.is_empty();
                if is_use {
                    collect(group.stream(), &path, paths);
                    path.clear();
                } else {
                    finish(&mut path, paths);
                    collect(group.stream(), "", paths);
                }
                colons = 0;
            }
            TokenTree::Literal(_) => {
                finish(&mut path, paths);
                colons = 0;
            }
        }
    }
    finish(&mut path, paths);
}

#[test]
fn paths_are_found_in_every_place() {
    let source = r#"
        //! Not std::env, not even `std::alloc`.
        use std::fs::{self, File, os::{unix}};
        use ::tokio;
        fn f(x: std::net::IpAddr) -> Vec<u8> { g!(std::process::id(), "std::thread"); a.b(c::d) }
    "#;
    let paths = paths(source);
    let expected = [
        "std::fs::self",
        "std::fs::File",
        "std::fs::os::unix",
        "tokio",
        "std::net::IpAddr",
        "std::process::id",
        "c::d",
    ];
    for path in expected {
        assert!(paths.iter().any(|found| found == path), "{path} is not among {paths:?}");
    }
    for path in ["std::env", "std::alloc", "std::thread"] {
        assert!(!paths.iter().any(|found| is_within(found, path)), "{path} is only text");
    }
}

#[test]
fn a_module_is_not_its_namesake() {
    assert!(is_within("std::fs", "std::fs"));
    assert!(is_within("std::fs::File", "std::fs"));
    assert!(!is_within("std::fspath", "std::fs"));
    assert!(!is_within("std", "std::fs"));
}
