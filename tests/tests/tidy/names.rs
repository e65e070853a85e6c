//! Files are called by what they hold; a name that fits everything says nothing.

use crate::workspace::{assert_none, rust_files};

const VAGUE: [&str; 10] =
    ["util", "utils", "common", "type", "types", "helper", "helpers", "manager", "managers", "misc"];

/// The part of a path that is too vague, if there is one.
fn vague_part(path: &str) -> Option<&str> {
    path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part)).find(|part| VAGUE.contains(part))
}

#[test]
fn files_are_called_by_what_they_hold() {
    let sources = rust_files();
    let vague = sources.iter().filter_map(|file| Some((&file.path, vague_part(&file.path)?)));
    assert_none(&vague.map(|(path, part)| format!("{path}: `{part}` says nothing")).collect::<Vec<_>>());
}

#[test]
fn a_vague_name_is_found() {
    for path in ["a/src/utils.rs", "a/src/common/mod.rs", "a/src/types.rs", "a/src/helpers/x.rs", "a/src/manager.rs"] {
        assert!(vague_part(path).is_some(), "{path}");
    }
    assert_eq!(vague_part("a/src/record_types.rs"), None);
}
