use super::*;

#[test]
fn series_are_written_below_what_is_said_of_them() {
    let mut exposition = Exposition::default();
    let mut family = exposition.family(Kind::Gauge, "lag", "How far behind.");
    family.series(&[("group", "a"), ("topic", "t")], 7);
    family.series(&[("group", "b"), ("topic", "t")], 0.5);
    exposition.counter("all_total", "All.", u64::MAX);
    let expected = "# HELP lag How far behind.\n# TYPE lag gauge\nlag{group=\"a\",topic=\"t\"} 7\n\
         lag{group=\"b\",topic=\"t\"} 0.5\n# HELP all_total All.\n# TYPE all_total counter\n\
         all_total 18446744073709551615\n";
    assert_eq!(exposition.finish(), expected);
}

#[test]
fn buckets_are_cumulative_and_end_at_infinity() {
    let mut exposition = Exposition::default();
    let seen = HistogramSnapshot { buckets: vec![(0.000_05, 2), (1.0, 3), (f64::INFINITY, 1)], sum_seconds: 1.25 };
    exposition.family(Kind::Histogram, "took_seconds", "Long.").histogram(&[("api", "Fetch")], &seen);
    let text = exposition.finish();
    for line in [
        "took_seconds_bucket{api=\"Fetch\",le=\"0.00005\"} 2\n",
        "took_seconds_bucket{api=\"Fetch\",le=\"1\"} 5\n",
        "took_seconds_bucket{api=\"Fetch\",le=\"+Inf\"} 6\n",
        "took_seconds_sum{api=\"Fetch\"} 1.25\n",
        "took_seconds_count{api=\"Fetch\"} 6\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn whatever_a_label_holds_stays_inside_it() {
    let mut exposition = Exposition::default();
    exposition.family(Kind::Gauge, "g", "G.").series(&[("group", "a\"} 1\n# \\<script>")], 1);
    let text = exposition.finish();
    assert!(text.ends_with("g{group=\"a\\\"} 1\\n# \\\\<script>\"} 1\n"), "{text}");
    assert_eq!(text.lines().count(), 3);
}
