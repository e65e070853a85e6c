use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// What the page may weigh, all together.
const BYTES_MAX: usize = 150_000;

#[test]
fn the_page_is_light() {
    let bytes: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
    assert!(bytes < BYTES_MAX, "{bytes} bytes");
}

#[test]
fn every_file_is_served_and_every_script_imports_what_is_served() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let files = fs::read_dir(folder).unwrap().map(|file| format!("/{}", file.unwrap().file_name().to_string_lossy()));
    let served: BTreeSet<String> = ASSETS.iter().map(|asset| asset.path.to_owned()).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), served);
    for asset in &ASSETS {
        for line in asset.content.lines().filter(|line| line.starts_with("import ")) {
            let from = line.split("from \"./").nth(1).unwrap().trim_end_matches("\";");
            assert!(served.contains(&format!("/{from}")), "{} imports {from}", asset.path);
        }
    }
}

#[test]
fn nothing_comes_from_elsewhere_and_nothing_is_made_of_markup() {
    for asset in ASSETS.iter().filter(|asset| asset.path != "/icon.svg") {
        let words =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "://cdn"];
        for word in words {
            assert!(!asset.content.contains(word), "{} holds {word}", asset.path);
        }
        // A namespace is a name, not a request.
        for (at, _) in asset.content.match_indices("http://") {
            assert!(
                asset.content[at..].starts_with("http://www.w3.org/2000/svg"),
                "{} names another server",
                asset.path
            );
        }
        assert!(!asset.content.contains("https://"), "{} names another server", asset.path);
    }
}

#[test]
fn the_page_holds_no_script_or_style_of_its_own() {
    let page = ASSETS[0].content;
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick"));
    assert!(page.matches("<script").count() == 1 && page.contains("<script type=\"module\" src="));
}
