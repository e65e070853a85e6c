//! The console's settings, by their dotted names.

use std::net::SocketAddr;

use thiserror::Error;

/// The console's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// `ui.listen`: where it listens; `None` for `none`, which switches it off. Default 127.0.0.1:9180: this machine only.
    pub listen: Option<String>,
    /// Whether somebody chose `listen`. The default gives way when it is taken; what was chosen does not.
    pub is_listen_given: bool,
    /// `ui.allow.writes`: whether the page may produce records and replay dead letters. Default no.
    pub allow_writes: bool,
    /// `ui.trace.url`: where a trace is shown, with `{traceId}` in the place of its id, as
    /// `http://localhost:16686/trace/{traceId}`. Default none: ids are shown without a link.
    pub trace_url: Option<String>,
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConsoleConfigError {
    /// Not a setting of the console.
    #[error("`{0}` is not a setting of the console")]
    Unknown(String),
    /// A value that is not taken.
    #[error("`{value}`: expected {expected}")]
    Value {
        /// What was given.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl Default for ConsoleConfig {
    fn default() -> Self {
        Self {
            listen: Some(Self::DEFAULT_LISTEN.to_owned()),
            is_listen_given: false,
            allow_writes: false,
            trace_url: None,
        }
    }
}

impl ConsoleConfig {
    /// Where it listens unless told otherwise.
    pub const DEFAULT_LISTEN: &'static str = "127.0.0.1:9180";
    /// Where it listens.
    pub const LISTEN: &'static str = "ui.listen";
    /// Whether it may change anything.
    pub const ALLOW_WRITES: &'static str = "ui.allow.writes";
    /// Where traces are shown.
    pub const TRACE_URL: &'static str = "ui.trace.url";
    /// The names of all settings.
    pub const KEYS: [&'static str; 3] = [Self::LISTEN, Self::ALLOW_WRITES, Self::TRACE_URL];

    /// Takes a text as the value of a setting.
    ///
    /// # Errors
    /// [`ConsoleConfigError`]; nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConsoleConfigError> {
        let refused = |expected| Err(ConsoleConfigError::Value { value: value.to_owned(), expected });
        match key {
            Self::LISTEN if value == "none" => (self.listen, self.is_listen_given) = (None, true),
            Self::LISTEN if is_address(value) => {
                (self.listen, self.is_listen_given) = (Some(value.to_owned()), true);
            }
            Self::LISTEN => return refused("HOST:PORT (port 0 picks a free one), or none"),
            Self::ALLOW_WRITES => match value.parse() {
                Ok(allow) => self.allow_writes = allow,
                Err(_) => return refused("true or false"),
            },
            Self::TRACE_URL if value.is_empty() => self.trace_url = None,
            Self::TRACE_URL if is_trace_url(value) => self.trace_url = Some(value.to_owned()),
            Self::TRACE_URL => return refused("an http or https URL with {traceId} in it"),
            _ => return Err(ConsoleConfigError::Unknown(key.to_owned())),
        }
        Ok(())
    }
}

fn is_address(value: &str) -> bool {
    let is_named = |(host, port): (&str, &str)| !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok();
    value.parse::<SocketAddr>().is_ok() || value.rsplit_once(':').is_some_and(is_named)
}

/// Nothing but a web page: the page makes a link of it.
fn is_trace_url(value: &str) -> bool {
    (value.starts_with("http://") || value.starts_with("https://")) && value.contains("{traceId}")
}

#[cfg(test)]
mod tests;
