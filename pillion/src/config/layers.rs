//! Puts file, environment and flags on top of each other: the last word on each key, and who said it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::Value;

use super::kafka;
use super::keys::{self, Part, Variable};
use super::named::{self, Named};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody said anything.
    Default,
    /// This file.
    File(PathBuf),
    /// This variable of the environment.
    Environment(String),
    /// This flag, as on the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// As text, whatever its type.
    pub(crate) value: String,
    /// Who gave it.
    pub(crate) origin: Origin,
}

/// The last word on each key.
pub(super) type Settings = BTreeMap<&'static str, Setting>;

/// What was said.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// By the plain keys.
    pub(super) plain: Settings,
    /// By keys of one connector only.
    pub(super) named: Named,
}

/// The layers put together so far. Add the file first, then the environment, then flags.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    said: Said,
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Layers {
    /// Adds a file: one that ends in `.properties` as Kafka's, others as TOML. Dotted keys and tables come to the same: `num.partitions = 3`, or `partitions = 3` under `[num]`;
    /// an array stands for its elements with commas between.
    pub(crate) fn add_file(&mut self, path: &Path) {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.problems.push(format!("cannot read {}: {error}", path.display())),
        };
        if path.extension().is_some_and(|extension| extension == "properties") {
            return self.add_kafka_file(path, &text);
        }
        match text.parse::<toml::Table>() {
            Ok(table) => self.add_table("", &table, &Origin::File(path.to_owned())),
            Err(error) => {
                self.problems.push(format!("{} is not TOML: {}", path.display(), error.to_string().trim_end()));
            }
        }
    }

    /// Adds a `server.properties` of Kafka's.
    fn add_kafka_file(&mut self, path: &Path, text: &str) {
        let read = kafka::read(text);
        let origin = Origin::File(path.to_owned());
        for (key, value) in read.settings {
            self.add(&key, value, origin.clone());
        }
        self.problems.extend(read.problems.into_iter().map(|problem| format!("{}: {problem}", path.display())));
        self.warnings.extend(read.warnings.into_iter().map(|warning| format!("{}: {warning}", path.display())));
    }

    fn add_table(&mut self, prefix: &str, table: &toml::Table, origin: &Origin) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                Value::Table(table) => {
                    if prefix == "connector" && named::is_name(name) {
                        // A connector may inherit everything.
                        self.said.named.entry(name.clone()).or_default();
                    }
                    self.add_table(&key, table, origin);
                }
                value => match plain_text(value) {
                    Some(text) => self.add(&key, text, origin.clone()),
                    None => self.problems.push(format!("{key} ({origin}): expected text, a number, true or false")),
                },
            }
        }
    }

    /// Adds the variables whose names begin with `PILLION_`; an empty one counts as unset, as compose files leave them.
    pub(crate) fn add_environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        for (name, value) in variables.filter(|(name, value)| name.starts_with("PILLION_") && !value.is_empty()) {
            match keys::variable(&name) {
                Variable::Key(key) => self.add(key, value, Origin::Environment(name)),
                Variable::Named(connector, key) => self.add_named(connector, key, value, Origin::Environment(name)),
                Variable::Ignored => {}
                Variable::Unknown => {
                    let suggestion = keys::variable_suggestion(&name);
                    self.problems.push(format!("{name} in the environment is not known; {suggestion}"));
                }
            }
        }
    }

    /// Adds a flag of its own, such as `--data-dir`.
    pub(crate) fn add_flag(&mut self, flag: &str, key: &'static str, value: String) {
        self.add(key, value, Origin::Flag(flag.to_owned()));
    }

    /// Adds a value for a key that nobody has said anything about so far.
    pub(crate) fn add_default(&mut self, key: &'static str, value: &str) {
        self.said.plain.entry(key).or_insert_with(|| Setting { value: value.to_owned(), origin: Origin::Default });
    }

    /// Whether somebody has said anything about a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.said.plain.contains_key(key)
    }

    /// Adds one `--set key=value`; the key must be for one of `parts`.
    pub(crate) fn add_set(&mut self, assignment: &str, parts: &[Part]) {
        let Some((key, value)) = assignment.split_once('=') else {
            return self.problems.push(format!("--set {assignment}: expected key=value"));
        };
        let (key, origin) = (key.trim(), Origin::Flag(format!("--set {}", key.trim())));
        let part = match named::split(key) {
            Some(_) => Some(Part::Connector),
            None => keys::find(key).map(|(_, part)| part),
        };
        match part {
            Some(part) if !parts.contains(&part) => {
                let owner = if part == Part::Connector { "the outbox connector" } else { "the broker" };
                self.problems.push(format!("--set {key}: this is for {owner}, which this command does not run"));
            }
            _ => self.add(key, value.trim().to_owned(), origin),
        }
    }

    /// Leaves one connector only: what `connector.<name>` says and inherits takes the place of the plain keys.
    pub(crate) fn select(&mut self, name: &str) {
        match self.said.named.remove(name) {
            Some(own) => self.said.plain = named::inherited(&self.said.plain, name, &own),
            None => {
                let known: Vec<&str> = self.said.named.keys().map(String::as_str).collect();
                let known = if known.is_empty() {
                    "there is none with a name".to_owned()
                } else {
                    format!("there are {}", known.join(", "))
                };
                self.problems.push(format!("--connector {name}: no connector has this name; {known}"));
            }
        }
        self.said.named.clear();
    }

    fn add(&mut self, key: &str, value: String, origin: Origin) {
        if let Some((name, own)) = named::split(key) {
            return match named::find(name, own) {
                Ok(own) => self.add_named(name.to_owned(), own, value, origin),
                Err(reason) => self.problems.push(format!("{key} ({origin}): {reason}")),
            };
        }
        match keys::find(key) {
            Some((key, _)) => {
                self.said.plain.insert(key, Setting { value, origin });
            }
            None => self.problems.push(format!("{key} ({origin}): unknown key; {}", keys::suggestion(key))),
        }
    }

    fn add_named(&mut self, name: String, key: &'static str, value: String, origin: Origin) {
        self.said.named.entry(name).or_default().insert(key, Setting { value, origin });
    }

    /// What was said so far, defaults not among it.
    pub(super) fn said(&self) -> Said {
        self.said.clone()
    }

    /// The settings, with everything wrong and everything worth knowing so far.
    pub(super) fn into_parts(self) -> (Said, Vec<String>, Vec<String>) {
        (self.said, self.problems, self.warnings)
    }

    /// The settings.
    ///
    /// # Errors
    /// Everything wrong with them as texts; values are not looked at.
    #[cfg(test)]
    pub(super) fn finish(self) -> Result<Settings, super::problem::ConfigurationError> {
        super::problem::ConfigurationError::unless_none(self.problems)?;
        Ok(self.said.plain)
    }
}

/// The text of a value that is not a table; `None` for dates and nested arrays.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(switch) => Some(switch.to_string()),
        Value::Array(elements) => {
            let is_nested = elements.iter().any(|element| matches!(element, Value::Array(_) | Value::Table(_)));
            let texts = elements.iter().map(plain_text).collect::<Option<Vec<_>>>()?;
            (!is_nested).then(|| texts.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests;
