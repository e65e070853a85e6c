//! `/metrics` as a scraper reads it.

use std::collections::BTreeMap;

use pillion_client::{CommittedOffset, GroupMetadata};

use crate::scene::{Answer, Scene, connector};

/// A metric as the text describes it.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    /// Names, labels and values.
    pub(crate) series: Vec<(String, String, f64)>,
}

/// Reads the text format, version 0.0.4, and refuses what a scraper would.
pub(crate) fn parse(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(families.insert(name.to_owned(), Family { help: help.to_owned(), ..Family::default() }).is_none());
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current);
            families.get_mut(name).unwrap().kind = kind.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
            let family = families.get_mut(&current).unwrap();
            let suffixes: &[&str] = if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.iter().any(|suffix| name == format!("{current}{suffix}")), "{line} is not of {current}");
            family.series.push((name.to_owned(), labels.to_owned(), value.parse().unwrap()));
        }
    }
    families
}

fn value(families: &BTreeMap<String, Family>, name: &str, labels: &str) -> f64 {
    let family = families.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    let found = family.series.iter().find(|(_, of, _)| of == labels);
    found.unwrap_or_else(|| panic!("{name} has no {{{labels}}}: {family:?}")).2
}

/// A broker that has done everything that is counted, with a connector beside.
pub(crate) async fn busy() -> (Scene, Answer) {
    let scene = Scene::new(&[]).await;
    scene.topic("orders", 3, &[]).await;
    for number in 0..5 {
        scene.produce("orders", "key", format!("value {number}").as_bytes(), &[]).await;
    }
    scene.get("/api/messages?topic=orders").await;
    let partition = (0..3)
        .find(|partition| i32::rem_euclid((pillion_client::murmur2(b"key") & 0x7fff_ffff) as i32, 3) == *partition);
    let committed = CommittedOffset {
        topic: "orders".to_owned(),
        partition: partition.unwrap(),
        offset: 2,
        leader_epoch: -1,
        metadata: None,
    };
    scene.client.commit_offsets(&GroupMetadata::outside("a \"quoted\"\\group"), vec![committed]).await.unwrap();
    scene.console.watched().connector_started(connector("shop"));
    let answer = scene.get("/metrics").await;
    (scene, answer)
}

#[tokio::test]
async fn what_is_shown_is_what_was_done() {
    let (scene, answer) = busy().await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let families = parse(&answer.body);
    assert_eq!(value(&families, "pillion_topic_appended_records_total", "topic=\"orders\""), 5.0);
    assert_eq!(value(&families, "pillion_topic_high_watermark", "topic=\"orders\""), 5.0);
    assert_eq!(value(&families, "pillion_topic_partitions", "topic=\"orders\""), 3.0);
    assert!(value(&families, "pillion_topic_fetched_bytes_total", "topic=\"orders\"") > 0.0);
    let group = "group=\"a \\\"quoted\\\"\\\\group\",topic=\"orders\"";
    assert_eq!(value(&families, "pillion_group_lag_records", group), 3.0);
    let requests = &families["pillion_broker_request_duration_seconds"];
    let produced =
        requests.series.iter().find(|(name, labels, _)| name.ends_with("_count") && labels == "api=\"Produce\"");
    assert_eq!(produced.unwrap().2, 5.0);
    assert!(value(&families, "pillion_log_sync_duration_seconds", "") > 0.0);
    assert_eq!(value(&families, "pillion_broker_offline_partitions", ""), 0.0);
    assert_eq!(value(&families, "pillion_connector_state", "connector=\"shop\",state=\"starting\""), 1.0);
    assert_eq!(value(&families, "pillion_connector_state", "connector=\"shop\",state=\"streaming\""), 0.0);
    scene.stop().await;
}

#[tokio::test]
async fn names_and_kinds_follow_the_conventions() {
    let (scene, answer) = busy().await;
    for (name, family) in parse(&answer.body) {
        assert!(name.starts_with("pillion_") || name.starts_with("process_"), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert_eq!(family.kind == "counter", name.ends_with("_total"), "{name} is a {}", family.kind);
        assert!(family.help.ends_with('.'), "{name}: {}", family.help);
        for unit in ["_ms", "_milliseconds", "_kilobytes", "_percent"] {
            assert!(!name.trim_end_matches("_total").ends_with(unit), "{name} is in no base unit");
        }
        let mut seen: Vec<_> = family.series.iter().map(|(name, labels, _)| (name, labels)).collect();
        seen.sort();
        let all = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), all, "{name} has a series twice");
    }
    scene.stop().await;
}

#[tokio::test]
async fn a_bound_on_series_leaves_the_sums_whole() {
    let scene = Scene::new(&[]).await;
    for hundred in 0..11 {
        let topics = (0..100).map(|number| pillion_client::NewTopic {
            partitions: 1,
            ..pillion_client::NewTopic::new(format!("t{hundred:02}{number:02}"))
        });
        let made = scene.client.admin().create_topics(topics.collect(), crate::scene::PATIENCE).await.unwrap();
        assert!(made.iter().all(|topic| topic.result.is_ok()));
    }
    let families = parse(&scene.get("/metrics").await.body);
    assert_eq!(families["pillion_topic_size_bytes"].series.len(), 1_000);
    assert_eq!(value(&families, "pillion_topics_without_series", ""), 100.0);
    assert_eq!(value(&families, "pillion_broker_topics", ""), 1_100.0);
    scene.stop().await;
}
