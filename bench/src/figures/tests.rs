use super::*;

#[test]
fn numbers_have_about_three_significant_digits() {
    let cases = [
        (1_234_567.8, "1,234,568"),
        (999.6, "1,000"),
        (104.0, "104"),
        (12.34, "12.3"),
        (4.0, "4"),
        (1.236, "1.24"),
        (0.1234, "0.123"),
        (0.0, "0"),
        (-1_500.0, "-1,500"),
    ];
    for (value, text) in cases {
        assert_eq!(number(value), text);
    }
}

#[test]
fn costs_are_per_gigabyte_and_per_operation() {
    let used = Used {
        time: std::time::Duration::from_secs(2),
        server_cpu: Some(std::time::Duration::from_secs(1)),
        own_cpu: std::time::Duration::from_millis(500),
    };
    let mut figures = Figures::default();
    figures.add_used(used, 4_000_000_000, 1_000);
    assert_eq!(figures.get("mb_per_s"), Some(2_000.0));
    assert_eq!(figures.get("cpu_s_per_gb"), Some(0.25));
    assert_eq!(figures.get("cpu_us_each"), Some(1_000.0));
    assert_eq!(figures.get("generator_cpu_s_per_gb"), Some(0.125));
    assert_eq!(figures.get("unknown"), None);
}
