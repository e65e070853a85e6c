use super::*;

fn endpoint_of(variables: &[(&str, &str)]) -> Option<String> {
    endpoint(|name| variables.iter().find(|(key, _)| *key == name).map_or(String::new(), |(_, value)| (*value).into()))
}

#[test]
fn nothing_is_exported_unless_asked_for() {
    let asked = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
    assert_eq!(endpoint_of(&[]), None);
    assert_eq!(endpoint_of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
    assert_eq!(endpoint_of(&[asked, ("OTEL_SDK_DISABLED", "TRUE")]), None);
    assert_eq!(endpoint_of(&[asked, ("OTEL_TRACES_EXPORTER", "none")]), None);
    assert_eq!(endpoint_of(&[asked]).as_deref(), Some("http://collector:4317"));
}

#[test]
fn endpoint_for_traces_goes_first_and_a_missing_scheme_is_http() {
    let both = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4317"),
    ];
    assert_eq!(endpoint_of(&both).as_deref(), Some("http://localhost:4317"));
}

#[test]
fn http_is_spoken_when_a_variable_says_so() {
    let is_http_with = |variables: &[(&str, &str)]| {
        is_http(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()).unwrap_or_default()
        })
    };
    let (all, own) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
    assert!(!is_http_with(&[]));
    assert!(is_http_with(&[(all, "http/protobuf")]));
    assert!(!is_http_with(&[(all, "http/protobuf"), (own, "grpc")]));
}
