//! docs/tracing.md lists exactly the variables that are read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::TelemetrySettings;

/// The page, from the repository's root.
const PAGE: &str = "docs/tracing.md";

/// Every `OTEL_` variable asked for when everything is on and nothing stands in for anything.
fn read() -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    let record = |values: &[(&str, &str)]| {
        let found = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| {
            if name.starts_with("OTEL_") {
                asked.borrow_mut().insert(name.to_owned());
            }
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        assert!(found.is_ok(), "{found:?}");
    };
    record(&[
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317"),
    ]);
    asked.into_inner()
}

fn documented() -> BTreeSet<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let section = page.split("\n## Variables\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let first_cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names = first_cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned());
    names.filter(|name| name.starts_with("OTEL_")).collect()
}

#[test]
fn the_page_about_tracing_lists_what_is_read_and_nothing_else() {
    let (read, documented) = (read(), documented());
    let undocumented: Vec<_> = read.difference(&documented).collect();
    let unread: Vec<_> = documented.difference(&read).collect();
    assert!(undocumented.is_empty() && unread.is_empty(), "not in {PAGE}: {undocumented:?}; not read: {unread:?}");
}
