//! What of a span is kept: the specification's attribute and span limits.

use super::values::Environment;

/// Counts beyond which the SDK leaves out what comes later, and the longest text of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanLimits {
    /// Attributes of a span (`OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT`, else `OTEL_ATTRIBUTE_COUNT_LIMIT`).
    pub attributes: u32,
    /// Events of a span (`OTEL_SPAN_EVENT_COUNT_LIMIT`).
    pub events: u32,
    /// Links of a span (`OTEL_SPAN_LINK_COUNT_LIMIT`).
    pub links: u32,
    /// Attributes of an event (`OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT`, else `OTEL_ATTRIBUTE_COUNT_LIMIT`).
    pub event_attributes: u32,
    /// Attributes of a link (`OTEL_LINK_ATTRIBUTE_COUNT_LIMIT`, else `OTEL_ATTRIBUTE_COUNT_LIMIT`).
    pub link_attributes: u32,
    /// Characters of a text that is an attribute of a span, or in one (`OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT`, else
    /// `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`); `None`: no limit.
    pub value_characters: Option<u32>,
}

impl SpanLimits {
    /// The specification's defaults.
    pub const DEFAULT: Self = Self {
        attributes: 128,
        events: 128,
        links: 128,
        event_attributes: 128,
        link_attributes: 128,
        value_characters: None,
    };
}

pub(super) fn read(environment: &mut Environment<'_>) -> SpanLimits {
    let general = environment.limit("OTEL_ATTRIBUTE_COUNT_LIMIT");
    let mut limit = |variable: &str, general: Option<u32>, otherwise: u32| {
        environment.limit(variable).or(general).unwrap_or(otherwise)
    };
    let default = SpanLimits::DEFAULT;
    let limits = SpanLimits {
        attributes: limit("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", general, default.attributes),
        events: limit("OTEL_SPAN_EVENT_COUNT_LIMIT", None, default.events),
        links: limit("OTEL_SPAN_LINK_COUNT_LIMIT", None, default.links),
        event_attributes: limit("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", general, default.event_attributes),
        link_attributes: limit("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", general, default.link_attributes),
        value_characters: None,
    };
    let length_variables = ["OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"];
    SpanLimits { value_characters: length_variables.into_iter().find_map(|name| environment.limit(name)), ..limits }
}
