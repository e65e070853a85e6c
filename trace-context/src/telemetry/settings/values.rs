//! Single values of the environment: text, numbers, lists, pairs, an endpoint. Collects warnings and problems, so that
//! a person sees all of them at once.

use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tonic::transport::Uri;

use super::collector::Signal;

/// Most spans the queue may be asked to hold: about a gigabyte, beyond which a number is a typing error.
const MAX_COUNT: usize = 1 << 20;

/// An endpoint as somebody set it.
pub(super) struct Endpoint {
    /// With its scheme.
    pub(super) url: String,
    /// Whether it stands in a variable for one signal alone, and so is not only a base.
    pub(super) is_for_one_signal: bool,
}

/// The environment and what was found wrong with it so far.
pub(super) struct Environment<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    warnings: Vec<String>,
    problems: Vec<String>,
}

impl<'a> Environment<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, warnings: Vec::new(), problems: Vec::new() }
    }

    /// Warnings and problems, in the order in which they were found.
    pub(super) fn into_messages(self) -> (Vec<String>, Vec<String>) {
        (self.warnings, self.problems)
    }

    pub(super) fn warn(&mut self, message: String) {
        self.warnings.push(message);
    }

    pub(super) fn refuse(&mut self, message: String) {
        self.problems.push(message);
    }

    /// A variable's value without surrounding blanks; empty is unset.
    pub(super) fn text(&self, variable: &str) -> Option<String> {
        let value = (self.lookup)(variable)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The variable for one signal, else the one for all, with its value.
    pub(super) fn signal(&self, signal: Signal, suffix: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{suffix}", signal.name());
        [own, format!("OTEL_EXPORTER_OTLP_{suffix}")].into_iter().find_map(|variable| {
            let value = self.text(&variable)?;
            Some((variable, value))
        })
    }

    /// The comma-separated names of a variable, in lower case.
    pub(super) fn list(&self, variable: &str) -> Vec<String> {
        let text = self.text(variable).unwrap_or_default().to_ascii_lowercase();
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// One of the known names, in any case.
    pub(super) fn choice<T: Copy>(&mut self, variable: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(variable)?;
        let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text)).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.warn(format!("{variable} is '{text}' and ignored: use one of {}", names.join(", ")));
        }
        found
    }

    pub(super) fn ratio(&mut self, variable: &str) -> Option<f64> {
        self.number(variable, "a ratio from 0 to 1", |ratio: &f64| (0.0..=1.0).contains(ratio))
    }

    pub(super) fn milliseconds(&mut self, variable: &str) -> Option<Duration> {
        self.number(variable, "milliseconds from 1 to 3600000", |number: &u64| (1..=3_600_000).contains(number))
            .map(Duration::from_millis)
    }

    pub(super) fn count(&mut self, variable: &str) -> Option<usize> {
        self.number(variable, "a count from 1 to 1048576", |count: &usize| (1..=MAX_COUNT).contains(count))
    }

    /// A limit of the SDK, such as attributes of a span.
    pub(super) fn limit(&mut self, variable: &str) -> Option<u32> {
        self.number(variable, "a count from 0 to 2147483647", |count: &u32| *count <= i32::MAX as u32)
    }

    fn number<T: FromStr>(&mut self, variable: &str, expected: &str, is_valid: impl Fn(&T) -> bool) -> Option<T> {
        let text = self.text(variable)?;
        let number = text.parse().ok().filter(is_valid);
        if number.is_none() {
            self.warn(format!("{variable} is '{text}' and ignored: use {expected}"));
        }
        number
    }

    /// `key=value,…` with percent-encoded values. One malformed pair spoils the variable, as the specification asks.
    pub(super) fn pairs(&mut self, variable: &str) -> Option<Vec<(String, String)>> {
        let text = self.text(variable)?;
        let members = text.split(',').map(str::trim).filter(|member| !member.is_empty());
        let pairs: Option<Vec<_>> = members.map(decode_pair).collect();
        if pairs.is_none() {
            self.warn(format!("{variable} is not a list of key=value with percent-encoded values and ignored"));
        }
        pairs
    }

    /// Pairs that are valid headers, of gRPC and HTTP alike. The values are secrets: no message holds one.
    pub(super) fn headers(&mut self, variable: &str) -> Option<Vec<(String, String)>> {
        let mut headers = self.pairs(variable)?;
        for (name, _) in &mut headers {
            name.make_ascii_lowercase();
        }
        let (valid, invalid): (Vec<_>, Vec<_>) =
            headers.into_iter().partition(|(name, value)| is_metadata(name, value));
        for (name, _) in invalid {
            self.warn(format!("{variable} has a header '{name}' that cannot be sent: it is left out"));
        }
        Some(valid)
    }

    /// A signal's endpoint with its scheme, if one is set.
    pub(super) fn endpoint(&mut self, signal: Signal) -> Option<Endpoint> {
        let (variable, text) = self.signal(signal, "ENDPOINT")?;
        let has_scheme = text.contains("://");
        let url = if has_scheme { text.clone() } else { format!("http://{text}") };
        match url.parse::<Uri>() {
            Ok(uri) if is_reachable(&uri) => {
                if !has_scheme {
                    self.warn(format!("{variable} is '{text}' without a scheme and read as '{url}'"));
                }
            }
            _ => self.refuse(format!("{variable} is '{text}': use http://host:port of an OTLP receiver")),
        }
        Some(Endpoint { url, is_for_one_signal: variable != "OTEL_EXPORTER_OTLP_ENDPOINT" })
    }
}

fn is_reachable(uri: &Uri) -> bool {
    matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
}

fn decode_pair(member: &str) -> Option<(String, String)> {
    let (key, value) = member.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let value = percent_decode_str(value).decode_utf8().ok()?;
    (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
}

fn is_metadata(name: &str, value: &str) -> bool {
    use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
    AsciiMetadataKey::from_bytes(name.as_bytes()).is_ok() && AsciiMetadataValue::try_from(value).is_ok()
}
