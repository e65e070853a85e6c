//! docs/log.md names every setting of logs with its default, as the tables in the code have them.

use super::super::log_settings::LOG_SETTINGS;
use super::*;

/// The page, from the repository's root.
const PAGE: &str = "docs/log.md";

fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

/// A topic's settings, as rows of a table.
fn topic_rows() -> Vec<String> {
    let defaults = configured(&[]).topic_defaults();
    let row = |key: &crate::topic_config::TopicConfigKey| {
        let broker: Vec<_> = key.broker_keys.iter().map(|key| code(key)).collect();
        let (name, broker, default) = (code(key.name), broker.join(", "), code(&(key.show)(&defaults)));
        format!("| {name} | {broker} | {default} | {} |", key.documentation)
    };
    TOPIC_CONFIG_KEYS.iter().map(row).collect()
}

/// The broker's settings of logs that no topic inherits, as rows of a table.
fn broker_rows() -> Vec<String> {
    let inherited = |key: &str| TOPIC_CONFIG_KEYS.iter().any(|topic| topic.broker_keys.contains(&key));
    let config = configured(&[]);
    let own = LOG_SETTINGS.iter().filter(|setting| !inherited(setting.key));
    let row = |setting: &crate::config::Setting| {
        format!("| {} | {} | {} |", code(setting.key), code(&(setting.show)(&config)), setting.documentation)
    };
    own.map(row).collect()
}

#[test]
fn the_page_about_logs_has_every_setting_with_its_default() {
    let page = page();
    let lines: Vec<_> = page.lines().collect();
    let is_there = |row: &String| lines.iter().any(|line| line.starts_with(row.as_str()));
    let missing: Vec<_> = topic_rows().into_iter().chain(broker_rows()).filter(|row| !is_there(row)).collect();
    assert!(missing.is_empty(), "these rows are not in {PAGE}:\n{}", missing.join("\n"));
}

#[test]
fn the_page_about_logs_has_no_setting_that_is_not_there() {
    let rows = topic_rows().into_iter().chain(broker_rows()).collect::<Vec<_>>();
    let page = page();
    let tables =
        page.lines().skip_while(|line| *line != "## Settings").take_while(|line| !line.starts_with("### Where"));
    let listed = tables.filter(|line| line.starts_with("| `"));
    let unknown: Vec<_> = listed.filter(|line| !rows.iter().any(|row| line.starts_with(row.as_str()))).collect();
    assert!(unknown.is_empty(), "{PAGE} has rows that the code does not have:\n{}", unknown.join("\n"));
}
