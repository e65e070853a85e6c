use super::*;

#[test]
fn records_that_were_due_during_a_stall_count_with_what_was_left_of_it() {
    let milliseconds = Duration::from_millis;
    let mut felt = Felt::default();
    felt.record(milliseconds(2), milliseconds(5));
    assert_eq!((felt.latencies.count(), felt.stalls), (1, 0));
    felt.record(milliseconds(500), milliseconds(5));
    assert_eq!((felt.latencies.count(), felt.stalls), (101, 1));
    let summary = felt.latencies.summary();
    assert_eq!((summary.p50_us, summary.max_us), (250_000.0, 500_000.0));
}
