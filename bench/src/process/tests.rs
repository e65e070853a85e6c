use super::*;

#[test]
fn a_process_name_with_blanks_and_parentheses_does_not_shift_the_ticks() {
    let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194304 99 0 0 0 17 5 0 0 20 0 4 0 100 1000 50";
    assert_eq!(cpu_ticks(stat), Some(22));
    assert_eq!(cpu_ticks("42 (a"), None);
}

#[test]
fn a_field_is_found_by_its_whole_name() {
    let text = "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t3\nVmRSS:\t  12 kB\n";
    assert_eq!(field(text, "voluntary_ctxt_switches:").unwrap(), 3);
    assert_eq!(kilobytes(text, "VmRSS:").unwrap(), 12 * 1024);
    assert!(field(text, "Threads:").is_err());
}

#[test]
fn the_own_process_can_be_looked_at() {
    let own = Process::own();
    assert!(own.resident_bytes().unwrap() > 100_000);
    assert!(own.peak_resident_bytes().unwrap() > 100_000);
    assert!(own.threads().unwrap() >= 1);
    assert!(own.cpu_time().unwrap() > Duration::ZERO);
}
