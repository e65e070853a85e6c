//! The dashboard and the alerts that come with pillion ask for metrics that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::metrics::{busy, parse};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)).unwrap()
}

/// Names of metrics in an expression of Prometheus' language.
fn names(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let is_ours = |word: &&str| word.starts_with("pillion_") || word.starts_with("process_");
    words.filter(is_ours).map(str::to_owned).collect()
}

/// The value behind a key, wherever it is.
fn collect(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == key => found.push(text.clone()),
            other => collect(other, key, found),
        }),
        Value::Array(values) => values.iter().for_each(|value| collect(value, key, found)),
        _ => {}
    }
}

/// Expressions that ask for something no scrape has.
fn unknown(expressions: &[String], known: &BTreeSet<String>) -> Vec<String> {
    let asked = expressions.iter().flat_map(|expression| names(expression));
    asked.filter(|name| !known.contains(name)).collect()
}

#[tokio::test]
async fn dashboard_and_alerts_ask_for_what_there_is_and_leave_nothing_out() {
    let (scene, answer) = busy().await;
    let families = parse(&answer.body);
    scene.stop().await;
    let mut known: BTreeSet<String> = families.keys().cloned().collect();
    known.extend(families.values().flat_map(|family| family.series.iter().map(|(name, ..)| name.clone())));

    let mut shown = Vec::new();
    collect(&serde_json::from_str(&read("grafana/pillion.json")).unwrap(), "expr", &mut shown);
    assert!(shown.len() > 30, "the dashboard has its panels");
    assert_eq!(unknown(&shown, &known), [""; 0]);

    let alerts = read("prometheus/alerts.yml");
    let watched: Vec<String> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect();
    let count = |word: &str| alerts.lines().filter(|line| line.trim().starts_with(word)).count();
    assert!(watched.len() > 10, "there are alerts");
    assert_eq!([count("- alert:"), count("summary:"), count("description:")], [watched.len(); 3]);
    assert_eq!(unknown(&watched, &known), [""; 0]);

    let operations = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations.md")).unwrap();
    let undocumented: Vec<&String> =
        families.keys().filter(|name| !operations.contains(&format!("`{name}`"))).collect();
    assert_eq!(undocumented, [""; 0], "docs/operations.md lists every metric");
    let alert = |line: &str| line.trim().strip_prefix("- alert: ").map(str::to_owned);
    let silent = alerts.lines().filter_map(alert).filter(|name| !operations.contains(&format!("`{name}`")));
    assert_eq!(silent.collect::<Vec<_>>(), [""; 0], "docs/operations.md says what to do about each alert");
}

#[test]
fn a_metric_that_is_not_there_is_found() {
    let known = ["pillion_ready".to_owned()].into();
    let asked = ["sum by (le) (rate(pillion_gone_bucket{api=\"x\"}[5m])) / pillion_ready".to_owned()];
    assert_eq!(unknown(&asked, &known), ["pillion_gone_bucket"]);
}
