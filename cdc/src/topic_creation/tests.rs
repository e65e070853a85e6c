use super::{TopicCreation, TopicCreationError, TopicSettings};

fn rules(settings: &[(&str, &str)]) -> TopicCreation {
    let mut rules = TopicCreation::default();
    for (key, value) in settings {
        rules.set(key, value).expect(key);
    }
    rules
}

fn check(rules: &TopicCreation, topic: &str, partitions: i32, replication_factor: i16, configs: &[(&str, &str)]) {
    let configs = configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(rules.of(topic), TopicSettings { partitions, replication_factor, configs }, "{topic}");
}

#[test]
fn without_rules_everything_is_the_brokers_default() {
    check(&TopicCreation::default(), "t", -1, -1, &[]);
    assert_eq!(TopicCreation::default().validate(), Ok(()));
}

#[test]
fn first_group_that_includes_and_does_not_exclude_a_topic_makes_it() {
    let rules = rules(&[
        ("topic.creation.groups", "compacted, orders"),
        ("topic.creation.default.partitions", "3"),
        ("topic.creation.default.replication.factor", "2"),
        ("topic.creation.default.retention.ms", "86400000"),
        ("topic.creation.compacted.include", r"outbox\.event\.state.*, .*-changelog"),
        ("topic.creation.compacted.exclude", ".*state-raw"),
        ("topic.creation.compacted.cleanup.policy", "compact"),
        ("topic.creation.orders.include", r"outbox\.event\..*"),
        ("topic.creation.orders.partitions", "12"),
        ("topic.creation.orders.min.insync.replicas", "2"),
    ]);
    assert_eq!(rules.validate(), Ok(()));
    check(&rules, "outbox.event.state", 3, 2, &[("cleanup.policy", "compact")]);
    check(&rules, "a-changelog", 3, 2, &[("cleanup.policy", "compact")]);
    check(&rules, "outbox.event.state-raw", 12, 2, &[("min.insync.replicas", "2")]);
    check(&rules, "outbox.event.order", 12, 2, &[("min.insync.replicas", "2")]);
    // Expressions match the whole name.
    check(&rules, "my-outbox.event.order", 3, 2, &[("retention.ms", "86400000")]);
}

#[test]
fn keys_of_another_form_are_unknown() {
    for key in ["topic.creation", "topic.creation.", "topic.creation.x", "topic.creation..a", "topic.creation.x."] {
        assert!(!TopicCreation::is_key(key), "{key}");
        assert!(matches!(TopicCreation::default().set(key, "1"), Err(TopicCreationError::Unknown(_))), "{key}");
    }
    let default = TopicCreation::default().set("topic.creation.default.include", ".*");
    assert!(matches!(default, Err(TopicCreationError::Unknown(_))));
}

#[test]
fn impossible_values_are_refused() {
    for (key, value) in [
        ("topic.creation.default.partitions", "0"),
        ("topic.creation.default.partitions", "-2"),
        ("topic.creation.default.replication.factor", "40000"),
        ("topic.creation.a.partitions", "many"),
        ("topic.creation.a.include", "("),
        ("topic.creation.groups", "a,default"),
        ("topic.creation.groups", "a.b"),
    ] {
        let error = TopicCreation::default().set(key, value).expect_err(key).to_string();
        assert!(error.contains("topic.creation."), "{error}");
    }
}

#[test]
fn groups_that_would_be_without_effect_are_told() {
    let rules = rules(&[("topic.creation.groups", "a"), ("topic.creation.b.partitions", "1")]);
    let problems: Vec<String> = rules.validate().unwrap_err().iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains("does not name b")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("topic.creation.a.include")), "{problems:?}");
}
