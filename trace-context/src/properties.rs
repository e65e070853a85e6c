//! The text of an outbox row's `tracingspancontext`: a bare `traceparent`, or Java `Properties` as Debezium's
//! OpenTelemetry interceptor and Quarkus write them.
//!
//! The format is that of `java.util.Properties.load`: a logical line is a key, a separator (`=`, `:` or blanks) and a
//! value; `#` and `!` begin a comment; a line that ends in an odd number of backslashes goes on in the next; `\t \n \r
//! \f` and `\u` with four hexadecimal digits are escapes, any other escaped character is itself. Where Java throws (a
//! malformed `\u`), only that entry is left out. Invariant: at most [`MAX_PROPERTIES_BYTES`] are looked at, and
//! nothing panics.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use crate::extraction::{BAGGAGE, Extraction, TRACEPARENT, TRACESTATE, TraceContext};
use crate::propagators::Propagators;
use crate::traceparent::TraceParent;

/// Longest text read, in bytes. A longer one counts as no context.
pub const MAX_PROPERTIES_BYTES: usize = 64 * 1024;

/// Reads and writes the text of `tracingspancontext`.
#[derive(Debug, Clone, Copy)]
pub struct TracingSpanContext;

impl TracingSpanContext {
    /// The context in `text`, or `None` if there is no valid one.
    pub fn parse(text: &str) -> Option<TraceContext> {
        Self::extract(text).into_context()
    }

    /// [`TracingSpanContext::parse`], with B3's refusal told apart. Keys are those of the headers (`traceparent`,
    /// `tracestate`, `baggage`, `b3`, `X-B3-…`) in any case; of a repeated key the last counts. What the process's
    /// [`Propagators`] do not read is left out.
    pub fn extract(text: &str) -> Extraction {
        Self::extract_by(Propagators::in_force(), text)
    }

    fn extract_by(propagators: Propagators, text: &str) -> Extraction {
        if text.len() > MAX_PROPERTIES_BYTES {
            return Extraction::Absent;
        }
        if let Ok(traceparent) = TraceParent::parse(text.trim().as_bytes()) {
            let is_read = propagators.reads_trace_context();
            return if is_read { Extraction::Found(traceparent.into()) } else { Extraction::Absent };
        }
        let entries: Vec<(String, String)> = Entries { characters: text.chars().peekable() }.flatten().collect();
        propagators.extract(entries.iter().map(|(key, value)| (key.as_str(), Some(value.trim_end().as_bytes()))))
    }

    /// Properties text that [`TracingSpanContext::parse`] and Java's `Properties.load` read back as `context`.
    pub fn format(context: &TraceContext) -> String {
        let mut text = format!("{TRACEPARENT}={}", context.traceparent);
        let tracestate = context.tracestate.as_ref().map(|state| (TRACESTATE, state.as_str()));
        let baggage = context.baggage.as_deref().map(|baggage| (BAGGAGE, baggage));
        for (key, value) in tracestate.into_iter().chain(baggage) {
            text.push('\n');
            text.push_str(key);
            text.push('=');
            escape_into(value, &mut text);
        }
        text
    }
}

/// Escapes a value: what ends a line or a word, and everything that is not printable ASCII, as Java's `store` does.
fn escape_into(value: &str, text: &mut String) {
    for (index, character) in value.chars().enumerate() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\u{c}' => text.push_str("\\f"),
            ' ' if index == 0 => text.push_str("\\ "),
            ' '..='~' => text.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(text, "\\u{unit:04X}").expect("writing to a string cannot fail");
                }
            }
        }
    }
}

/// The entries of a Properties text in their order; `None` for an entry with a malformed escape.
struct Entries<'a> {
    characters: Peekable<Chars<'a>>,
}

/// One character of a logical line.
enum Symbol {
    /// As written: may be a separator or a blank.
    Plain(char),
    /// From an escape: belongs to the key or value whatever it is.
    Escaped(char),
    /// One half of a surrogate pair, from `\uD800` to `\uDFFF`.
    Surrogate(u16),
    /// `\u` without four hexadecimal digits.
    Malformed,
}

/// A key or value under construction.
#[derive(Default)]
struct Word {
    text: String,
    high_surrogate: Option<u16>,
    is_malformed: bool,
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

impl Iterator for Entries<'_> {
    type Item = Option<(String, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_to_entry()?;
        let mut key = Word::default();
        let mut separator = None;
        while separator.is_none() {
            match self.next_symbol() {
                None => break,
                Some(Symbol::Plain(character)) if is_blank(character) || matches!(character, '=' | ':') => {
                    separator = Some(character);
                }
                Some(symbol) => key.push(symbol),
            }
        }
        let mut value = Word::default();
        if let Some(first) = self.skip_separator(separator) {
            value.push(first);
            while let Some(symbol) = self.next_symbol() {
                value.push(symbol);
            }
        }
        Some(key.finish().zip(value.finish()))
    }
}

impl Entries<'_> {
    /// Skips blank lines and comments. `None` at the end of the text.
    fn skip_to_entry(&mut self) -> Option<()> {
        loop {
            let first = *self.characters.peek()?;
            if is_blank(first) || is_line_end(first) {
                self.characters.next();
            } else if matches!(first, '#' | '!') {
                while self.characters.next_if(|character| !is_line_end(*character)).is_some() {}
            } else {
                return Some(());
            }
        }
    }

    /// Skips blanks and at most one `=` or `:` around them; the first symbol of the value, or `None` if it is empty.
    fn skip_separator(&mut self, mut separator: Option<char>) -> Option<Symbol> {
        separator?;
        loop {
            match self.next_symbol()? {
                Symbol::Plain(character) if is_blank(character) => {}
                Symbol::Plain(character @ ('=' | ':')) if separator.is_some_and(is_blank) => {
                    separator = Some(character);
                }
                first => return Some(first),
            }
        }
    }

    /// The next symbol of the logical line, joined over continued lines; `None` once, at its end.
    fn next_symbol(&mut self) -> Option<Symbol> {
        loop {
            match self.characters.next()? {
                '\\' => {
                    let escaped = self.characters.next()?;
                    if !is_line_end(escaped) {
                        return Some(self.unescape(escaped));
                    }
                    if escaped == '\r' {
                        self.characters.next_if_eq(&'\n');
                    }
                    while self.characters.next_if(|character| is_blank(*character)).is_some() {}
                }
                character if is_line_end(character) => return None,
                character => return Some(Symbol::Plain(character)),
            }
        }
    }

    fn unescape(&mut self, escaped: char) -> Symbol {
        match escaped {
            't' => Symbol::Escaped('\t'),
            'n' => Symbol::Escaped('\n'),
            'r' => Symbol::Escaped('\r'),
            'f' => Symbol::Escaped('\u{c}'),
            'u' => self.unescape_unicode(),
            other => Symbol::Escaped(other),
        }
    }

    fn unescape_unicode(&mut self) -> Symbol {
        let mut unit: u16 = 0;
        for _ in 0..4 {
            let Some(digit) = self.characters.next_if(char::is_ascii_hexdigit).and_then(|digit| digit.to_digit(16))
            else {
                return Symbol::Malformed;
            };
            unit = unit << 4 | digit as u16;
        }
        char::from_u32(u32::from(unit)).map_or(Symbol::Surrogate(unit), Symbol::Escaped)
    }
}

impl Word {
    fn push(&mut self, symbol: Symbol) {
        let high = self.high_surrogate.take();
        match symbol {
            Symbol::Plain(character) | Symbol::Escaped(character) => {
                self.is_malformed |= high.is_some();
                self.text.push(character);
            }
            Symbol::Surrogate(unit) => match high {
                None if unit < 0xdc00 => self.high_surrogate = Some(unit),
                None => self.is_malformed = true,
                Some(high) => match char::decode_utf16([high, unit]).next() {
                    Some(Ok(character)) => self.text.push(character),
                    _ => self.is_malformed = true,
                },
            },
            Symbol::Malformed => self.is_malformed = true,
        }
    }

    fn finish(self) -> Option<String> {
        (!self.is_malformed && self.high_surrogate.is_none()).then_some(self.text)
    }
}

#[cfg(test)]
mod tests;
