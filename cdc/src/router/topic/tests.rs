use proptest::prelude::*;

use super::{TopicRoute, TopicRouteError, is_legal};
use crate::router::options::DEFAULT_TOPIC_REGEX;

fn check(regex: &str, replacement: &str, value: &str, topic: &str) {
    let route = TopicRoute::new(regex, replacement).expect(replacement);
    assert_eq!(route.name(value), topic, "{regex} {replacement} {value}");
}

#[test]
fn default_regex_makes_the_whole_value_a_group() {
    check(DEFAULT_TOPIC_REGEX, "outbox.event.${routedByValue}", "order", "outbox.event.order");
    check(DEFAULT_TOPIC_REGEX, "events.${routedByValue}.v1", "order", "events.order.v1");
    check(DEFAULT_TOPIC_REGEX, "events.$1-$0", "order", "events.order-order");
}

#[test]
fn replacement_has_javas_meaning() {
    check("(.)(.*)", "$1-$2-x", "order", "o-rder-x");
    check("(.)(.*)", "$10", "order", "o0");
    check("(.*)", r"a\$1\\", "order", r"a$1\");
    check("(a)?(.*)", "[$1]$2", "order", "[]order");
    check("order", "fixed", "order", "fixed");
}

#[test]
fn a_value_not_matched_as_a_whole_is_the_topic() {
    check("ord", "x", "order", "order");
    check("(?<kind>ord.*)", "${kind}", "payment", "payment");
}

#[test]
fn only_the_first_match_is_replaced_as_kafkas_router_does() {
    check("(a|ab)", "x", "ab", "xb");
}

#[test]
fn impossible_rules_are_refused_at_the_start() {
    let error = |regex, replacement| TopicRoute::new(regex, replacement).expect_err(replacement);
    assert!(matches!(error("(", "x"), TopicRouteError::Regex { .. }));
    assert!(matches!(error("(.*)", "${routedByValue}"), TopicRouteError::NoSuchGroup { .. }));
    assert!(matches!(error("(.*)", "$2"), TopicRouteError::NoSuchGroup { .. }));
    for replacement in ["$", "$x", "${name", "x\\"] {
        assert!(matches!(error("(?<name>.*)", replacement), TopicRouteError::Replacement { .. }), "{replacement}");
    }
}

#[test]
fn legal_names_are_kafkas() {
    for name in ["a", "outbox.event.order", "A-z_0.9", &"x".repeat(249)] {
        assert!(is_legal(name), "{name}");
    }
    for name in ["", ".", "..", "a b", "a/b", "ü", "a\n", &"x".repeat(250)] {
        assert!(!is_legal(name), "{name}");
    }
}

proptest! {
    #[test]
    fn any_replacement_and_value_never_panic(replacement in "\\PC{0,24}", value in "\\PC{0,24}") {
        if let Ok(route) = TopicRoute::new("(.)(?<rest>.*)", &replacement) {
            let _ = route.name(&value);
        }
    }
}
