use std::time::Duration;

use super::histogram::Histogram;

#[test]
fn a_duration_falls_into_the_first_bucket_that_holds_it() {
    let histogram = Histogram::default();
    for micros in [0, 50, 51, 1_000, 10_000_000, 10_000_001, u64::MAX] {
        histogram.observe(Duration::from_micros(micros));
    }
    let seen = histogram.snapshot();
    let of = |bound: f64| seen.buckets.iter().find(|(upper, _)| *upper == bound).unwrap().1;
    assert_eq!((of(0.000_05), of(0.000_1), of(0.001), of(10.0), of(f64::INFINITY)), (2, 1, 1, 1, 2));
    assert_eq!(seen.count(), 7);
}

#[test]
fn durations_add_up_in_seconds() {
    let histogram = Histogram::default();
    (0..4).for_each(|_| histogram.observe(Duration::from_millis(250)));
    assert!((histogram.snapshot().sum_seconds - 1.0).abs() < 1e-9);
}
