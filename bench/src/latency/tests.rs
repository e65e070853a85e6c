use super::*;

fn of(milliseconds: impl IntoIterator<Item = u64>) -> Latencies {
    Latencies(milliseconds.into_iter().map(Duration::from_millis).collect())
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let summary = of((1..=100).rev()).summary();
    assert_eq!(summary, Summary { p50_us: 50_000.0, p99_us: 99_000.0, max_us: 100_000.0 });
}

#[test]
fn one_value_is_every_percentile() {
    assert_eq!(of([7]).summary(), Summary { p50_us: 7_000.0, p99_us: 7_000.0, max_us: 7_000.0 });
}

#[test]
fn nothing_measured_is_zero() {
    assert_eq!(of([]).summary(), Summary { p50_us: 0.0, p99_us: 0.0, max_us: 0.0 });
    assert_eq!(percentile::<u8>(&[], 0.5), None);
}

#[test]
fn a_median_of_an_even_number_lies_between_the_middle_two() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}
