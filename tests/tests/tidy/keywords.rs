//! `unsafe` only in files that are named here, and tests that wait for conditions instead of sleeping for luck.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::paths::tokens;
use crate::workspace::{File, assert_exceptions_are_needed, assert_none, rust_files};

/// Files that may hold `unsafe`, each with its reason.
const UNSAFE_FILES: &[(&str, &str)] = &[
    ("broker/src/disk/mapped.rs", "memory of a file is unsafe in itself: the file must not change under it"),
    ("bench/src/zero_copy/map.rs", "memory of a file is what is compared with reading it: it must not change under it"),
];

/// Tests that may sleep outside a loop that looks at a condition, each with its reason.
const SLEEPING_TESTS: &[(&str, &str)] = &[
    ("cdc/src/connector/tests.rs", "its clock is paused: a minute passes at once, and nothing may happen in it"),
    ("cdc/src/connector/tests/exactly_once.rs", "its clock is paused, too"),
    ("tests/chaos/fault.rs", "how long a thing goes wrong is part of what goes wrong"),
    ("tests/chaos/story.rs", "how long a thing goes wrong is part of what goes wrong"),
    ("tests/tests/crashes/production.rs", "Postgres' time-out is to pass, and a broker is to be away for a while"),
];

/// The token `unsafe`; not the word in a comment, nor in a lint's name.
fn has_unsafe(source: &str) -> bool {
    any(tokens(source), false, &|word| word.name == "unsafe")
}

/// A call of anything that is called `sleep`, but for the pause between two looks at a condition: inside a loop.
fn has_lucky_sleep(source: &str) -> bool {
    any(tokens(source), false, &|word| word.name == "sleep" && word.is_called && !word.is_looped)
}

/// A name in a source.
struct Word {
    name: String,
    /// Parentheses follow.
    is_called: bool,
    /// It stands in the body of a loop.
    is_looped: bool,
}

fn any(tokens: TokenStream, is_looped: bool, is_wanted: &impl Fn(&Word) -> bool) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    let mut begins_loop = false;
    while let Some(token) = tokens.next() {
        let found = match token {
            TokenTree::Ident(name) => {
                let name = name.to_string();
                begins_loop |= ["while", "loop", "in"].contains(&name.as_str());
                let is_called =
                    matches!(tokens.peek(), Some(TokenTree::Group(next)) if next.delimiter() == Delimiter::Parenthesis);
                is_wanted(&Word { name, is_called, is_looped })
            }
            TokenTree::Group(group) => {
                let is_body = group.delimiter() == Delimiter::Brace && std::mem::take(&mut begins_loop);
                any(group.stream(), is_looped || is_body, is_wanted)
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        };
        if found {
            return true;
        }
    }
    false
}

fn check(exceptions: &[(&str, &str)], breaks: impl Fn(&File) -> bool, complaint: &str) {
    let sources = rust_files();
    let breaking: Vec<&str> = sources.iter().filter(|file| breaks(file)).map(|file| file.path.as_str()).collect();
    assert_exceptions_are_needed(exceptions, |path| breaking.contains(&path));
    let unexpected = breaking.iter().filter(|path| exceptions.iter().all(|(exception, _)| exception != *path));
    assert_none(&unexpected.map(|path| format!("{path} {complaint}")).collect::<Vec<_>>());
}

#[test]
fn unsafe_is_only_where_it_is_named() {
    check(UNSAFE_FILES, |file| has_unsafe(&file.text), "holds `unsafe`: do without, or name it in UNSAFE_FILES");
}

#[test]
fn tests_do_not_sleep_for_luck() {
    let sleeps = |file: &File| file.is_test() && has_lucky_sleep(&file.text);
    check(SLEEPING_TESTS, sleeps, "sleeps: wait for the condition, or name it in SLEEPING_TESTS");
}

#[test]
fn unsafe_is_found() {
    assert!(has_unsafe("fn f() { if x { unsafe { g() } } }"));
    assert!(has_unsafe("unsafe impl Send for X {}"));
    assert!(!has_unsafe("#![forbid(unsafe_code)] // unsafe\nfn f() { g(\"unsafe\") }"));
}

#[test]
fn a_sleep_is_found() {
    assert!(has_lucky_sleep("async fn f() { tokio::time::sleep(d).await }"));
    assert!(has_lucky_sleep("fn f() { x.map(|_| thread::sleep(d)) }"));
    assert!(has_lucky_sleep("fn f() { while g() { h() } sleep(d) }"));
    assert!(!has_lucky_sleep("async fn f() { while !g() { assert!(h()); tokio::time::sleep(d).await } }"));
    assert!(!has_lucky_sleep("fn f() { loop { if g() { return } sleep(d) } }"));
    assert!(!has_lucky_sleep("fn f() { for _ in 0..9 { if g() { return } sleep(d) } }"));
    assert!(has_lucky_sleep("impl A for B { fn f() { sleep(d) } }"));
    assert!(!has_lucky_sleep("use std::thread::sleep; fn f() { g(\"select pg_sleep(1)\") } // sleep(1)"));
}
