//! The repository's files, as the rules see them.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository that holds text.
pub(crate) struct File {
    /// From the repository's root, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Compiled for tests only: `foo/tests.rs`, everything below a folder `tests`, and that crate.
    pub(crate) fn is_test(&self) -> bool {
        is_test(&self.path)
    }
}

pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').rev().skip(1).any(|folder| folder == "tests")
}

/// Where the workspace begins.
pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests are a folder of the workspace").to_owned()
}

/// Every text file of the repository; what `.gitignore` names is not part of it.
pub(crate) fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(&root(), "", &mut files);
    assert!(files.iter().any(|file| file.path == "Cargo.toml"), "the walk has missed the workspace");
    files
}

/// Every Rust source of the repository.
pub(crate) fn rust_files() -> Vec<File> {
    files().into_iter().filter(File::is_rust).collect()
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("the repository can be read");
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if is_ignored(&path, &name) {
            continue;
        }
        if entry.is_dir() {
            collect(&entry, &format!("{path}/"), files);
        } else if let Ok(text) = fs::read_to_string(&entry) {
            files.push(File { path, text });
        }
    }
}

fn is_ignored(path: &str, name: &str) -> bool {
    [".git", "target", "data"].contains(&path) || name.ends_with(".swp")
}

/// Fails with every complaint, one a line.
pub(crate) fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Fails when a list of exceptions names a file twice, gives no reason, or names one that no longer needs it.
pub(crate) fn assert_exceptions_are_needed(exceptions: &[(&str, &str)], needed: impl Fn(&str) -> bool) {
    for (index, (path, reason)) in exceptions.iter().enumerate() {
        assert!(!reason.is_empty(), "the exception of {path} has no reason");
        assert!(needed(path), "{path} needs no exception any more: take it off the list");
        assert!(exceptions[..index].iter().all(|(earlier, _)| earlier != path), "{path} is listed twice");
    }
}

#[test]
fn tests_are_told_from_sources() {
    assert!(is_test("cdc/src/router/tests.rs"));
    assert!(is_test("broker/src/groups/tests/joining.rs"));
    assert!(is_test("tests/src/lib.rs"));
    assert!(!is_test("cdc/src/router/mod.rs"));
    assert!(!is_test("broker/src/latests.rs"));
}

#[test]
fn the_walk_sees_every_crate() {
    let files = rust_files();
    for folder in ["wire/src/", "wire/derive/src/", "client/src/", "trace-context/src/", "broker/src/", "cdc/src/"] {
        assert!(files.iter().any(|file| file.path.starts_with(folder)), "nothing below {folder}");
    }
    for folder in ["pillion/src/", "examples/saga/src/bin/", "tests/tests/tidy/"] {
        assert!(files.iter().any(|file| file.path.starts_with(folder)), "nothing below {folder}");
    }
}
