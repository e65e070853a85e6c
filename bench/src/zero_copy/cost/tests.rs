use super::*;

#[test]
fn the_measurement_in_the_middle_is_taken() {
    let mut left = vec![5, 1, 9].into_iter();
    let cost = |milliseconds| Cost {
        bytes: 1_000_000_000,
        time: Duration::from_secs(1),
        cpu: Duration::from_millis(milliseconds),
        voluntary_switches: 0,
        involuntary_switches: 0,
        disk_read_bytes: 500_000_000,
    };
    let middle = middle_of(3, |cost| cost, || Ok(cost(left.next().unwrap()))).unwrap();
    assert_eq!(middle.cpu, Duration::from_millis(5));
    assert_eq!(middle.disk_part(), "50 %");
    assert_eq!(left.next(), None);
    assert_eq!(cost(250).cells(), ["1,000", "0.25", "0", "0"]);
}
