//! What each variable of the environment does.

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<TelemetrySettings, SettingsError> {
    TelemetrySettings::from_lookup("pillion", "1.2.3", |name| {
        variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    })
}

fn read_export(variables: &[(&str, &str)]) -> ExportSettings {
    let mut all = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")];
    all.extend_from_slice(variables);
    read(&all).unwrap().export.unwrap()
}

fn read_collector(variables: &[(&str, &str)]) -> CollectorSettings {
    read_export(variables).collector
}

fn check_refused(variables: &[(&str, &str)], expected: &str) {
    let error = read(variables).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

fn check_warned(variables: &[(&str, &str)], expected: &str) {
    let warnings = read(variables).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}");
}

#[test]
fn empty_environment_exports_nothing_and_warns_of_nothing() {
    let settings = read(&[]).unwrap();
    assert_eq!(settings.export, None);
    assert_eq!(settings.service_name, "pillion");
    assert_eq!(settings.resource_attributes, [("service.version".to_owned(), "1.2.3".to_owned())]);
    assert_eq!(settings.sampler, SamplerSetting::ParentBasedAlwaysOn);
    assert_eq!((settings.log_filter.as_str(), settings.log_format), ("info", None));
    assert!(settings.warnings.is_empty());
}

#[test]
fn empty_variable_is_an_unset_one() {
    let names = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_SERVICE_NAME",
        "OTEL_TRACES_SAMPLER",
        "OTEL_BSP_SCHEDULE_DELAY",
        "PILLION_LOG",
    ];
    let variables: Vec<_> = names.into_iter().map(|name| (name, " ")).collect();
    assert_eq!(read(&variables), read(&[]));
}

#[test]
fn endpoint_turns_the_export_on_with_the_specifications_defaults() {
    let expected = ExportSettings {
        collector: CollectorSettings {
            protocol: Protocol::Grpc,
            endpoint: "http://collector:4317".into(),
            tls: None,
            headers: vec![],
            gzip: false,
            timeout: Duration::from_secs(10),
        },
        queue_size: 2048,
        batch_size: 512,
        schedule_delay: Duration::from_secs(5),
    };
    assert_eq!(read_export(&[]), expected);
}

#[test]
fn variables_for_traces_come_before_those_for_all_signals() {
    let collector = read_collector(&[
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:1"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=all"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Api-Key=a%20b, x=%3D"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2000"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
    ]);
    assert_eq!((collector.protocol, collector.endpoint.as_str()), (Protocol::Grpc, "http://traces:1"));
    assert_eq!(collector.headers, [("api-key".to_owned(), "a b".to_owned()), ("x".to_owned(), "=".to_owned())]);
    assert_eq!(collector.timeout, Duration::from_secs(2));
    assert!(collector.gzip);
}

#[test]
fn endpoint_without_a_scheme_is_read_as_http_with_one_warning() {
    let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]).unwrap();
    assert_eq!(settings.export.unwrap().collector.endpoint, "http://localhost:4317");
    assert_eq!(settings.warnings.len(), 1);
    assert!(settings.warnings[0].contains("without a scheme"));
}

#[test]
fn endpoint_that_cannot_be_reached_is_refused() {
    for endpoint in ["ftp://collector", "http://", "http:// collector", "collector 4317"] {
        check_refused(&[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)], "use http://host:port");
    }
}

#[test]
fn protocol_that_is_not_built_in_is_refused() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
    check_refused(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")], "not built in: use grpc");
}

#[test]
fn http_adds_its_path_to_an_endpoint_for_all_signals_and_to_no_other() {
    let http = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
    let endpoint_of = |variables: &[(&str, &str)]| {
        let all: Vec<_> = [http, ("OTEL_TRACES_EXPORTER", "otlp")].iter().chain(variables).copied().collect();
        read(&all).unwrap().export.unwrap().collector.endpoint
    };
    assert_eq!(endpoint_of(&[]), "http://localhost:4318/v1/traces");
    let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
    assert_eq!(endpoint_of(&[(base, "http://collector:4318")]), "http://collector:4318/v1/traces");
    assert_eq!(endpoint_of(&[(base, "http://collector:4318/")]), "http://collector:4318/v1/traces");
    assert_eq!(endpoint_of(&[(base, "https://gateway/otlp/")]), "https://gateway/otlp/v1/traces");
    let own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    assert_eq!(endpoint_of(&[(base, "http://other"), (own, "http://collector:1/in")]), "http://collector:1/in");
    assert_eq!(endpoint_of(&[(own, "http://collector:1")]), "http://collector:1");
}

#[test]
fn traces_and_metrics_may_speak_different_protocols() {
    let settings = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector:4317"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
        ("OTEL_METRIC_EXPORT_TIMEOUT", "400"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
    ])
    .unwrap();
    assert_eq!(settings.export.unwrap().collector.protocol, Protocol::HttpProtobuf);
    let metrics = settings.metrics.unwrap();
    assert_eq!(metrics.collector.protocol, Protocol::Grpc);
    assert_eq!(metrics.collector.endpoint, "http://collector:4317");
    assert_eq!((metrics.interval, metrics.collector.timeout), (Duration::from_millis(500), Duration::from_millis(400)));
    assert!(metrics.is_delta);
}

#[test]
fn metrics_are_sent_only_when_somebody_asks_for_them() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
    let own_endpoint = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector:4317");
    assert_eq!(read(&[endpoint]).unwrap().metrics, None);
    assert!(read(&[own_endpoint]).unwrap().metrics.is_some());
    assert_eq!(read(&[own_endpoint, ("OTEL_METRICS_EXPORTER", "none")]).unwrap().metrics, None);
    assert_eq!(read(&[own_endpoint, ("OTEL_SDK_DISABLED", "true")]).unwrap().metrics, None);
    assert!(read(&[("OTEL_METRICS_EXPORTER", "otlp")]).unwrap().metrics.is_some());
    check_warned(&[("OTEL_METRICS_EXPORTER", "prometheus")], "'prometheus'");
}

#[test]
fn limits_are_the_specifications_unless_a_variable_says_otherwise() {
    assert_eq!(read(&[]).unwrap().limits, SpanLimits::DEFAULT);
    let limits = read(&[
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "10"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "20"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT", "30"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "40"),
        ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "50"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "60"),
    ]);
    let expected = SpanLimits {
        attributes: 20,
        events: 30,
        links: 40,
        event_attributes: 10,
        link_attributes: 50,
        value_characters: Some(60),
    };
    assert_eq!(limits.unwrap().limits, expected);
    let own = ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "7");
    let limits = read(&[("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "60"), own]).unwrap().limits;
    assert_eq!(limits.value_characters, Some(7));
    check_warned(&[("OTEL_SPAN_LINK_COUNT_LIMIT", "-1")], "OTEL_SPAN_LINK_COUNT_LIMIT");
}

#[test]
fn every_problem_is_told_at_once() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://collector");
    let error = read(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "thrift")]).unwrap_err();
    assert_eq!(error.problems.len(), 2);
}

#[test]
fn exporter_name_and_disabling_decide_over_the_endpoint() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
    assert_eq!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]).unwrap().export, None);
    assert_eq!(read(&[endpoint, ("OTEL_SDK_DISABLED", "True")]).unwrap().export, None);
    assert!(read(&[endpoint, ("OTEL_SDK_DISABLED", "false")]).unwrap().export.is_some());
    assert!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "otlp")]).unwrap().export.is_some());
    let by_name = read(&[("OTEL_TRACES_EXPORTER", "otlp")]).unwrap();
    assert_eq!(by_name.export.unwrap().collector.endpoint, DEFAULT_ENDPOINT);
    check_warned(&[("OTEL_TRACES_EXPORTER", "console")], "'console'");
}

#[test]
fn disabled_telemetry_does_not_mind_a_wrong_endpoint() {
    let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://collector"), ("OTEL_SDK_DISABLED", "true")]);
    assert_eq!(settings.unwrap().export, None);
}

#[test]
fn service_name_comes_from_its_variable_then_the_resource_then_the_program() {
    let attributes =
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=from-resource,deployment.environment.name=a%2Cb,service.version=9");
    let settings = read(&[attributes]).unwrap();
    assert_eq!(settings.service_name, "from-resource");
    let expected = [("deployment.environment.name", "a,b"), ("service.version", "9")];
    assert_eq!(settings.resource_attributes, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert_eq!(read(&[attributes, ("OTEL_SERVICE_NAME", "named")]).unwrap().service_name, "named");
}

#[test]
fn malformed_resource_attributes_are_ignored_as_a_whole() {
    for value in ["a=1,b", "=1", "a=%ff"] {
        check_warned(&[("OTEL_RESOURCE_ATTRIBUTES", value)], "OTEL_RESOURCE_ATTRIBUTES");
        assert_eq!(read(&[("OTEL_RESOURCE_ATTRIBUTES", value)]).unwrap().resource_attributes.len(), 1);
    }
}

#[test]
fn header_that_grpc_cannot_send_is_left_out_and_its_value_kept_secret() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "good=1,bad name=hunter2,line=hunter2%0A"),
    ];
    let settings = read(&variables).unwrap();
    assert_eq!(settings.export.unwrap().collector.headers, [("good".to_owned(), "1".to_owned())]);
    assert_eq!(settings.warnings.len(), 2);
    assert!(!settings.warnings.concat().contains("hunter2"));
}

#[test]
fn every_sampler_of_the_specification_is_known() {
    for (name, expected) in [
        ("always_on", SamplerSetting::AlwaysOn),
        ("always_off", SamplerSetting::AlwaysOff),
        ("traceidratio", SamplerSetting::TraceIdRatio(0.25)),
        ("parentbased_always_on", SamplerSetting::ParentBasedAlwaysOn),
        ("parentbased_always_off", SamplerSetting::ParentBasedAlwaysOff),
        ("parentbased_traceidratio", SamplerSetting::ParentBasedTraceIdRatio(0.25)),
    ] {
        let settings = read(&[("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", "0.25")]).unwrap();
        assert_eq!(settings.sampler, expected);
    }
    check_warned(&[("OTEL_TRACES_SAMPLER", "xray")], "xray");
    check_warned(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "NaN")], "ratio");
    check_warned(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "1.1")], "ratio");
}

#[test]
fn queue_is_set_by_its_variables_and_a_batch_fits_in_it() {
    let export = read_export(&[
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "200"),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "700"),
    ]);
    assert_eq!((export.queue_size, export.batch_size), (100, 100));
    assert_eq!(
        (export.schedule_delay, export.collector.timeout),
        (Duration::from_millis(50), Duration::from_millis(700))
    );
}

#[test]
fn unreadable_numbers_are_ignored_with_a_warning() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
    for (variable, value) in [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "99999999999"),
        ("OTEL_BSP_SCHEDULE_DELAY", "5s"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
    ] {
        check_warned(&[endpoint, (variable, value)], variable);
        assert_eq!(read_export(&[(variable, value)]), read_export(&[]), "{variable}={value}");
    }
}

#[test]
fn propagators_are_those_named_and_an_unknown_one_is_worth_a_warning() {
    assert_eq!(read(&[]).unwrap().propagators, Propagators::DEFAULT);
    assert_eq!(read(&[("OTEL_PROPAGATORS", "none")]).unwrap().propagators, Propagators::NONE);
    assert!(read(&[("OTEL_PROPAGATORS", "tracecontext,baggage,b3,b3multi")]).unwrap().warnings.is_empty());
    check_warned(&[("OTEL_PROPAGATORS", "tracecontext,jaeger")], "'jaeger'");
}

#[test]
fn log_filter_is_pillions_own_variable_before_rusts() {
    assert_eq!(read(&[("RUST_LOG", "debug")]).unwrap().log_filter, "debug");
    assert_eq!(read(&[("RUST_LOG", "debug"), ("PILLION_LOG", "warn")]).unwrap().log_filter, "warn");
    assert_eq!(read(&[("PILLION_LOG_FORMAT", "JSON")]).unwrap().log_format, Some(LogFormat::Json));
    check_warned(&[("PILLION_LOG_FORMAT", "xml")], "human, json");
}

#[test]
fn https_endpoint_is_trusted_by_the_system_or_by_the_files_named() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317");
    let read_tls = |variables: &[(&str, &str)]| {
        let all: Vec<_> = [endpoint].iter().chain(variables).copied().collect();
        read(&all).unwrap().export.unwrap().collector.tls.unwrap()
    };
    assert_eq!(read_tls(&[]), TlsSettings::default());
    let certificate = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/ca.pem");
    let own = ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/own.pem");
    let key = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/own.key");
    let expected =
        TlsSettings { certificate: Some("/ca.pem".into()), client: Some(("/own.pem".into(), "/own.key".into())) };
    assert_eq!(read_tls(&[certificate, own, key]), expected);
    check_refused(&[endpoint, own], "belong together");
    check_refused(&[endpoint, key], "belong together");
}
