//! Code in docs/outbox.md is code that runs: each block equals a marked region of the file named before it.
//!
//! A region begins with a comment `region: NAME` and ends with a comment `endregion`, in any language; its own
//! indentation is left out.

use std::fs;

use crate::workspace::{assert_none, root};

const DOCUMENT: &str = "docs/outbox.md";
const FENCE: &str = "```";

/// A block of code, and the line before it.
struct Block {
    /// Of the opening fence, from 1.
    line: usize,
    before: String,
    code: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = document.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.starts_with(FENCE) {
            let code = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != FENCE);
            let code = code.collect::<Vec<_>>().join("\n");
            blocks.push(Block { line: number + 1, before: before.to_owned(), code });
        }
        before = line;
    }
    blocks
}

/// What a comment says, whatever marks it as one.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    ["//", "#", "--", "<!--"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .map(|text| text.trim_end_matches("-->").trim())
}

/// The lines of a region, moved to the left as far as they go together.
fn region(source: &str, name: &str) -> Option<String> {
    let begins = |line: &&str| comment(line).and_then(|text| text.strip_prefix("region: ")) == Some(name);
    let mut rest = source.lines().skip_while(|line| !begins(line));
    rest.next()?;
    let lines: Vec<&str> = rest.take_while(|line| comment(line) != Some("endregion")).collect();
    let blank = |line: &&&str| !line.trim().is_empty();
    let indentation = lines.iter().filter(blank).map(|line| line.len() - line.trim_start().len()).min()?;
    let moved: Vec<&str> = lines.iter().map(|line| line.get(indentation..).unwrap_or_default()).collect();
    Some(moved.join("\n").trim_matches('\n').to_owned())
}

fn complaint(block: &Block, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let at = format!("{DOCUMENT}:{}", block.line);
    let Some((path, name)) = comment(&block.before).and_then(|text| text.split_once(": ")) else {
        return Some(format!("{at}: the block does not say `<!-- FILE: REGION -->` in the line before it"));
    };
    let Some(expected) = read(path).and_then(|source| region(&source, name)) else {
        return Some(format!("{at}: {path} has no region {name}"));
    };
    (block.code != expected).then(|| format!("{at}: differs from the region {name} of {path}, which is\n{expected}\n"))
}

#[test]
fn every_block_of_code_is_a_piece_of_a_program_that_runs() {
    let document = fs::read_to_string(root().join(DOCUMENT)).unwrap();
    let blocks = blocks(&document);
    assert!(blocks.len() > 10, "the document has its blocks");
    let read = |path: &str| fs::read_to_string(root().join(path)).ok();
    assert_none(&blocks.iter().filter_map(|block| complaint(block, read)).collect::<Vec<_>>());
}

#[test]
fn a_block_that_differs_is_found() {
    let source = "x\n    // region: write\n    a {\n\n        b\n    }\n    // endregion\n    c\n";
    let read = |path: &str| (path == "f.rs").then(|| source.to_owned());
    let check = |before: &str, code: &str| {
        let document = format!("Text.\n\n{before}\n```rust\n{code}\n```\nText.\n");
        let [block] = &blocks(&document)[..] else { panic!("one block") };
        assert_eq!(block.line, 4);
        complaint(block, read)
    };
    assert_eq!(check("<!-- f.rs: write -->", "a {\n\n    b\n}"), None);
    for (before, code) in [
        ("<!-- f.rs: write -->", "a {\n\n    c\n}"),
        ("<!-- f.rs: write -->", ""),
        ("<!-- f.rs: writ -->", "a {\n\n    b\n}"),
        ("<!-- g.rs: write -->", "a {\n\n    b\n}"),
        ("<!-- write -->", "a {\n\n    b\n}"),
        ("", "a {\n\n    b\n}"),
    ] {
        assert!(check(before, code).is_some(), "{before} {code}");
    }
    assert_eq!(region("# region: a\nb\n# endregion\n-- region: c\nd\n-- endregion", "c").as_deref(), Some("d"));
}
