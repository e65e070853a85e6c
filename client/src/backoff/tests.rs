use std::time::Duration;

use super::Backoff;

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(1) };

#[test]
fn no_failure_means_no_delay() {
    assert_eq!(BACKOFF.delay(0, 0.5), Duration::ZERO);
}

#[test]
fn delay_doubles_up_to_the_maximum() {
    let delays: Vec<u128> = (1..=6).map(|failures| BACKOFF.delay(failures, 0.5).as_millis()).collect();
    assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
    assert_eq!(BACKOFF.delay(u32::MAX, 0.5), Duration::from_secs(1));
}

#[test]
fn jitter_moves_a_delay_by_a_fifth_at_most() {
    assert_eq!(BACKOFF.delay(1, 0.0), Duration::from_millis(80));
    assert_eq!(BACKOFF.delay(1, 1.0), Duration::from_millis(120));
}
