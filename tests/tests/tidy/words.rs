//! Words that have no place in what is published: unfinished business, and where somebody's machine keeps things.

use crate::workspace::{assert_none, files};

/// Split, so that this file does not name what it forbids.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE_FOLDERS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "team")];

/// `word` stands in `line` by itself, not inside a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let is_inside = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    line.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| line.as_bytes().get(at));
        !is_inside(before) && !is_inside(line.as_bytes().get(at + word.len()))
    })
}

/// `folder` begins a path in `line`: it is not the middle of a longer one.
fn has_path(line: &str, folder: &str) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-}*~".contains(byte);
    line.match_indices(folder).any(|(at, _)| !at.checked_sub(1).is_some_and(|at| goes_on(&line.as_bytes()[at])))
}

fn complaints(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
            complaints.push(format!("{path}:{number}: `{word}`: do it, or file an issue"));
        }
        for folder in MACHINE_FOLDERS.iter().filter(|folder| has_path(line, folder)) {
            complaints.push(format!("{path}:{number}: `{folder}` is a path of one machine"));
        }
    }
    complaints
}

#[test]
fn nothing_is_left_unfinished_or_tied_to_a_machine() {
    let found = files().iter().flat_map(|file| complaints(&file.path, &file.text)).collect::<Vec<_>>();
    assert_none(&found);
}

#[test]
fn unfinished_business_is_found() {
    for word in UNFINISHED {
        assert_eq!(complaints("a.rs", &format!("fine\n// {word}: later")).len(), 1, "{word}");
        assert!(complaints("a.rs", &format!("A{word}B")).is_empty(), "{word} inside a word");
    }
}

#[test]
fn a_path_of_a_machine_is_found() {
    for folder in MACHINE_FOLDERS {
        assert_eq!(complaints("a.md", &format!("cd {folder}x")).len(), 1, "{folder}");
        assert_eq!(complaints("a.md", &format!("\"{folder}x\"")).len(), 1, "{folder}");
        assert!(complaints("a.md", &format!("https://host{folder}x")).is_empty(), "{folder} inside an address");
    }
}
