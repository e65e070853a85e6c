use super::*;

#[test]
fn fields_are_counted_behind_the_name_whatever_it_holds() {
    let text = "42 (a (b) 1 2) S 1 42 42 0 -1 4194560 100 0 0 0 7 5 0 0 20 0 9 0 1234 1048576 256 18446744073709551615";
    let expected =
        Stat { cpu_ticks: 12, threads: 9, started_ticks: 1234, virtual_bytes: 1_048_576, resident_pages: 256 };
    assert_eq!(Stat::parse(text), Some(expected));
    assert_eq!(Stat::parse("42 (cut"), None);
    assert_eq!(Stat::parse("42 (cut) S 1 2"), None);
}

#[test]
#[cfg(target_os = "linux")]
fn this_process_is_seen() {
    let seen = look().unwrap();
    assert!(seen.resident_bytes > 0 && seen.threads > 0 && seen.open_files > 2, "{seen:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(seen.started_seconds <= now + 1.0 && seen.started_seconds > now - 3600.0 * 24.0, "{seen:?} at {now}");
}
