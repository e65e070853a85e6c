//! Which targets become spans for the collector.

use super::*;

#[test]
fn crates_below_the_exporter_are_left_out() {
    for target in
        ["h2", "h2::client", "hyper_util::client", "tonic::transport", "tower::buffer::worker", "opentelemetry_sdk"]
    {
        assert!(is_below_exporter(target), "{target}");
    }
    for target in ["pillion_cdc", "h2o", "h2o::kettle", "towering", "", "my::h2"] {
        assert!(!is_below_exporter(target), "{target}");
    }
}
