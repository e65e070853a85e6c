use super::*;
use crate::config::Part;

const BOTH: [Part; 2] = [Part::Broker, Part::Connector];

fn effective_of(assignments: &[&str]) -> Vec<EffectiveSetting> {
    let mut layers = Layers::default();
    assignments.iter().for_each(|assignment| layers.add_set(assignment, &BOTH));
    effective(layers).unwrap()
}

fn shown(settings: &[EffectiveSetting], key: &str) -> (Option<String>, String) {
    let setting = settings.iter().find(|setting| setting.key == key).unwrap();
    (setting.value.clone(), setting.origin.to_string())
}

#[test]
fn every_key_is_listed_with_value_and_origin() {
    let settings = effective_of(&["num.partitions=3"]);
    assert_eq!(settings.len(), keys::all().len());
    assert_eq!(shown(&settings, "num.partitions"), (Some("3".to_owned()), "--set num.partitions".to_owned()));
    assert_eq!(shown(&settings, "slot.name"), (Some("pillion".to_owned()), "default".to_owned()));
    assert_eq!(shown(&settings, "listeners").0.as_deref(), Some("PLAINTEXT://127.0.0.1:9092"));
    assert_eq!(shown(&settings, "postgres.url"), (None, "default".to_owned()));
}

#[test]
fn rules_for_topics_are_listed_as_they_were_given() {
    let settings =
        effective_of(&["topic.creation.groups=a", "topic.creation.a.include=x.*", "topic.creation.a.retention.ms=5"]);
    assert_eq!(shown(&settings, "topic.creation.a.retention.ms").0.as_deref(), Some("5"));
    assert_eq!(shown(&settings, "topic.creation.default.partitions").0.as_deref(), Some("-1"));
}

#[test]
fn no_password_is_shown() {
    let url = effective_of(&["postgres.url=postgresql://shop:hunter2@db/orders"]);
    assert_eq!(shown(&url, "postgres.url").0.as_deref(), Some("postgresql://shop@db:5432/orders"));
    let parts = effective_of(&["database.hostname=db", "database.user=shop", "database.password=hunter2"]);
    assert_eq!(shown(&parts, "database.password").0.as_deref(), Some(HIDDEN));
    let sasl = effective_of(&[
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.username=shop",
        "sasl.password=hunter2",
    ]);
    assert_eq!(shown(&sasl, "sasl.password").0.as_deref(), Some(HIDDEN));
    assert_eq!(shown(&sasl, "security.protocol").0.as_deref(), Some("SASL_PLAINTEXT"));
    assert!(!format!("{url:?}{parts:?}{sasl:?}").contains("hunter2"));
}

#[test]
fn a_connector_with_a_name_shows_what_is_its_own_and_no_password() {
    let settings = effective_of(&[
        "connector.orders.postgres.url=postgresql://shop:hunter2@db/orders",
        "connector.orders.on.error=skip",
        "delivery=at-least-once",
    ]);
    let own: Vec<_> = settings.iter().filter(|setting| setting.key.starts_with("connector.")).collect();
    let listed: Vec<_> = own.iter().map(|one| (one.key.as_str(), one.value.as_deref().unwrap())).collect();
    assert_eq!(
        listed,
        [
            ("connector.orders.postgres.url", "postgresql://shop@db:5432/orders"),
            ("connector.orders.slot.name", "pillion_orders"),
            ("connector.orders.publication.name", "pillion_outbox_orders"),
            ("connector.orders.client.id", "pillion-cdc-orders"),
            ("connector.orders.on.error", "skip"),
        ]
    );
    assert_eq!(own[4].origin.to_string(), "--set connector.orders.on.error");
    assert_eq!(shown(&settings, "slot.name").0.as_deref(), Some("pillion"));
    assert!(!format!("{settings:?}").contains("hunter2"));
}
