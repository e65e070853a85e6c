//! The topic's name: `route.topic.regex` and `route.topic.replacement`, with the meaning they have in Java, where
//! Debezium's configurations come from.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use regex_lite::Regex;
use thiserror::Error;

use super::error::RouteError;
use super::options::DEFAULT_TOPIC_REGEX;

#[cfg(test)]
mod tests;

/// Kafka's limit on a topic's name (`org.apache.kafka.common.internals.Topic`).
const TOPIC_NAME_LENGTH_MAX: usize = 249;

/// Values whose topic is remembered; beyond it they are worked out again.
const REMEMBERED_MAX: usize = 1024;

/// `route.topic.regex` or `route.topic.replacement` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopicRouteError {
    /// The regex does not compile. Java's look-around and back-references are not understood.
    #[error("route.topic.regex `{regex}`: {reason}")]
    Regex {
        /// As given.
        regex: String,
        /// The compiler's reason.
        reason: String,
    },
    /// The replacement refers to a group the regex does not have.
    #[error("route.topic.replacement refers to the group `{group}`, which route.topic.regex does not have")]
    NoSuchGroup {
        /// Its name or number.
        group: String,
    },
    /// A `$` or `\` without what must follow it.
    #[error("route.topic.replacement `{replacement}`: expected $1 or ${{name}} after `$`, and a character after `\\`")]
    Replacement {
        /// As given.
        replacement: String,
    },
}

/// A compiled rule from the routing value to a topic.
#[derive(Debug)]
pub(super) struct TopicRoute {
    /// None for the default regex, whose one group is the whole value.
    regexes: Option<Regexes>,
    replacement: Vec<Part>,
    /// Topics by value: few, and the same again and again. Values are no longer than a topic's name can be.
    remembered: Mutex<HashMap<Box<str>, Arc<str>>>,
}

#[derive(Debug)]
struct Regexes {
    whole: Regex,
    first: Regex,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Group(usize),
}

impl TopicRoute {
    pub(super) fn new(regex: &str, replacement: &str) -> Result<TopicRoute, TopicRouteError> {
        let compile = |pattern: &str| {
            Regex::new(pattern)
                .map_err(|error| TopicRouteError::Regex { regex: regex.to_owned(), reason: error.to_string() })
        };
        let first = compile(regex)?;
        let replacement = parse_replacement(replacement, &first)?;
        let regexes = match regex == DEFAULT_TOPIC_REGEX {
            true => None,
            false => Some(Regexes { whole: compile(&format!(r"\A(?:{regex})\z"))?, first }),
        };
        Ok(TopicRoute { regexes, replacement, remembered: Mutex::default() })
    }

    /// The topic for `value`.
    ///
    /// # Errors
    /// [`RouteError::IllegalTopic`] for a name that Kafka would refuse.
    pub(super) fn topic(&self, value: &str) -> Result<Arc<str>, RouteError> {
        let mut remembered = self.remembered.lock();
        if let Some(topic) = remembered.get(value) {
            return Ok(Arc::clone(topic));
        }
        let topic = self.name(value);
        if !is_legal(&topic) {
            return Err(RouteError::IllegalTopic { topic: topic.chars().take(300).collect() });
        }
        let topic: Arc<str> = topic.into();
        if value.len() <= TOPIC_NAME_LENGTH_MAX {
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            remembered.insert(value.into(), Arc::clone(&topic));
        }
        Ok(topic)
    }

    /// A value the regex does not match as a whole is the topic itself; of one that it
    /// does, the first match is replaced (Kafka's RegexRouter, which Debezium uses).
    fn name(&self, value: &str) -> String {
        let Some(regexes) = &self.regexes else {
            return self.expand(|_| value);
        };
        if !regexes.whole.is_match(value) {
            return value.to_owned();
        }
        let Some(groups) = regexes.first.captures(value) else {
            return value.to_owned();
        };
        let Some(found) = groups.get(0) else {
            return value.to_owned();
        };
        let replaced = self.expand(|group| groups.get(group).map_or("", |group| group.as_str()));
        format!("{}{replaced}{}", &value[..found.start()], &value[found.end()..])
    }

    fn expand<'v>(&self, group: impl Fn(usize) -> &'v str) -> String {
        let mut topic = String::with_capacity(64);
        for part in &self.replacement {
            match part {
                Part::Literal(text) => topic.push_str(text),
                Part::Group(number) => topic.push_str(group(*number)),
            }
        }
        topic
    }
}

/// Whether Kafka takes `name` as a topic: 1 to 249 of `a-z A-Z 0-9 . _ -`, and neither `.` nor `..`.
pub(crate) fn is_legal(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=TOPIC_NAME_LENGTH_MAX).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(legal)
}

fn parse_replacement(replacement: &str, regex: &Regex) -> Result<Vec<Part>, TopicRouteError> {
    let malformed = || TopicRouteError::Replacement { replacement: replacement.to_owned() };
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = replacement;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '\\' => {
                let escaped = rest.chars().next().ok_or_else(malformed)?;
                literal.push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            '$' => {
                let (group, after) = parse_group(rest, regex, replacement)?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Group(group));
                rest = after;
            }
            other => literal.push(other),
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

/// What follows a `$`: a group's number and the rest of the text.
fn parse_group<'t>(text: &'t str, regex: &Regex, replacement: &str) -> Result<(usize, &'t str), TopicRouteError> {
    let malformed = || TopicRouteError::Replacement { replacement: replacement.to_owned() };
    if let Some(braced) = text.strip_prefix('{') {
        let (name, after) = braced.split_once('}').ok_or_else(malformed)?;
        let number = regex.capture_names().position(|candidate| candidate == Some(name));
        return match number {
            Some(number) => Ok((number, after)),
            None => Err(TopicRouteError::NoSuchGroup { group: name.to_owned() }),
        };
    }
    // Java takes the first digit always, and further ones as long as such a group exists.
    let digit = |text: &str| text.chars().next().and_then(|next| next.to_digit(10)).map(|digit| digit as usize);
    let mut number = digit(text).ok_or_else(malformed)?;
    let mut rest = &text[1..];
    if number >= regex.captures_len() {
        return Err(TopicRouteError::NoSuchGroup { group: number.to_string() });
    }
    while let Some(longer) = digit(rest).map(|next| number.saturating_mul(10).saturating_add(next)) {
        if longer >= regex.captures_len() {
            break;
        }
        number = longer;
        rest = &rest[1..];
    }
    Ok((number, rest))
}
