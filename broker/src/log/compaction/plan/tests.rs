use super::*;

const CONFIG: CompactionConfig =
    CompactionConfig { min_cleanable_dirty_ratio: 0.5, min_compaction_lag_ms: 0, max_compaction_lag_ms: i64::MAX };

/// A segment of a hundred records whose first timestamp is its base offset, and the last 99 ms later.
fn segment(base_offset: i64, bytes: u64) -> SegmentFacts {
    let (first_timestamp, max_timestamp) = (base_offset, base_offset + 99);
    SegmentFacts { base_offset, bytes, offset_index_bytes: 8, time_index_bytes: 12, max_timestamp, first_timestamp }
}

/// Five segments of 10 bytes at 100, 200, … 500; the last is active.
fn segments() -> [SegmentFacts; 5] {
    [100, 200, 300, 400, 500].map(|base| segment(base, 10))
}

fn log(segments: &[SegmentFacts]) -> LogFacts<'_> {
    LogFacts {
        segments,
        log_start_offset: 100,
        log_end_offset: 550,
        high_watermark: 550,
        last_stable_offset: 550,
        cleaned_to: Some(300),
    }
}

#[test]
fn the_active_segment_is_never_cleaned() {
    let segments = segments();
    let cleanable = Cleanable::of(&log(&segments), &CONFIG, 10_000);
    assert_eq!((cleanable.first_dirty_offset, cleanable.bound), (300, 500));
    assert_eq!((cleanable.clean_bytes, cleanable.cleanable_bytes), (20, 20));
    assert!(!cleanable.checkpoint_invalid && !cleanable.overdue);
}

#[test]
fn a_log_is_due_only_above_its_ratio() {
    let segments = segments();
    let at_half = Cleanable::of(&log(&segments), &CONFIG, 10_000);
    assert!((at_half.ratio() - 0.5).abs() < 1e-9 && !at_half.is_due(&CONFIG));
    assert!(at_half.is_due(&CompactionConfig { min_cleanable_dirty_ratio: 0.49, ..CONFIG }));
    let nothing_dirty = Cleanable::of(&LogFacts { cleaned_to: Some(500), ..log(&segments) }, &CONFIG, 10_000);
    let zero = CompactionConfig { min_cleanable_dirty_ratio: 0.0, ..CONFIG };
    assert_eq!((nothing_dirty.cleanable_bytes, nothing_dirty.is_due(&zero)), (0, false));
}

#[test]
fn what_is_not_stable_stays_with_its_whole_segment() {
    let segments = segments();
    for (high_watermark, last_stable_offset, bound) in
        [(450, 550, 400), (550, 399, 300), (400, 550, 400), (99, 99, 100)]
    {
        let facts = LogFacts { high_watermark, last_stable_offset, ..log(&segments) };
        assert_eq!(Cleanable::of(&facts, &CONFIG, 10_000).bound, bound, "{high_watermark} {last_stable_offset}");
    }
    let facts = LogFacts { last_stable_offset: 150, ..log(&segments) };
    assert_eq!(Cleanable::of(&facts, &CONFIG, 10_000).cleanable_bytes, 0);
}

#[test]
fn young_segments_wait_for_the_least_lag() {
    let segments = segments();
    let bound = |lag, now| {
        Cleanable::of(&log(&segments), &CompactionConfig { min_compaction_lag_ms: lag, ..CONFIG }, now).bound
    };
    assert_eq!(bound(1000, 1399), 400, "the segment at 300 ends at 399 and is old enough");
    assert_eq!(bound(1000, 1398), 300);
    assert_eq!(bound(0, 0), 500, "without a lag the time does not matter");
    // A segment without timestamps is no reason to wait.
    let mut untimed = segments;
    untimed[2].max_timestamp = -1;
    untimed[3].max_timestamp = -1;
    let lag = CompactionConfig { min_compaction_lag_ms: 1000, ..CONFIG };
    assert_eq!(Cleanable::of(&log(&untimed), &lag, 0).bound, 500);
}

#[test]
fn a_record_beyond_the_largest_lag_makes_a_log_due_whatever_the_ratio() {
    let mut segments = segments();
    segments[0].bytes = 1_000_000;
    let config = CompactionConfig { max_compaction_lag_ms: 1000, ..CONFIG };
    let early = Cleanable::of(&log(&segments), &config, 1300);
    let late = Cleanable::of(&log(&segments), &config, 1301);
    assert!(!early.overdue && !early.is_due(&config));
    assert!(late.overdue && late.is_due(&config));
    let unstable = LogFacts { last_stable_offset: 300, ..log(&segments) };
    assert!(!Cleanable::of(&unstable, &config, 1301).is_due(&config), "overdue, but nothing may be cleaned");
}

#[test]
fn a_checkpoint_outside_the_log_means_from_its_start() {
    let segments = segments();
    for cleaned_to in [Some(99), Some(551)] {
        let cleanable = Cleanable::of(&LogFacts { cleaned_to, ..log(&segments) }, &CONFIG, 10_000);
        assert_eq!((cleanable.first_dirty_offset, cleanable.checkpoint_invalid), (100, true));
    }
    let never = Cleanable::of(&LogFacts { cleaned_to: None, ..log(&segments) }, &CONFIG, 10_000);
    assert_eq!((never.first_dirty_offset, never.checkpoint_invalid), (100, false));
    assert_eq!((never.clean_bytes, never.cleanable_bytes), (0, 40));
}

#[test]
fn a_log_without_segments_has_nothing_to_clean() {
    let cleanable = Cleanable::of(&log(&[]), &CONFIG, 0);
    assert!(!cleanable.is_due(&CONFIG) && cleanable.ratio() == 0.0);
}

#[test]
fn the_filthiest_log_comes_first() {
    let segments = segments();
    let with = |cleaned_to| Cleanable::of(&LogFacts { cleaned_to: Some(cleaned_to), ..log(&segments) }, &CONFIG, 0);
    let logs = [("a", with(300)), ("b", with(200)), ("c", with(400))];
    assert_eq!(filthiest(logs).map(|(name, _)| name), Some("b"));
    assert_eq!(filthiest::<()>([]), None);
}

#[test]
fn groups_stay_below_the_sizes_of_a_segment_and_its_indexes() {
    let segments = segments();
    let group = |bytes, index| group_segments(&segments[..4], 500, bytes, index);
    assert_eq!(group(40, 1000), std::slice::from_ref(&(0..4)));
    assert_eq!(group(39, 1000), [0..3, 3..4]);
    assert_eq!(group(5, 1000), [0..1, 1..2, 2..3, 3..4], "a segment larger than the limit is alone");
    assert_eq!(group(1000, 24), [0..2, 2..4], "two time indexes of 12 bytes");
    assert!(group_segments(&[], 0, 10, 10).is_empty());
}

#[test]
fn offsets_of_a_group_fit_its_index() {
    let far = i64::from(i32::MAX);
    let wide = [segment(0, 10), segment(far - 10, 10), segment(far + 1, 10)];
    assert_eq!(group_segments(&wide, far + 100, 1000, 1000), [0..2, 2..3]);
    // Emptied segments span as many offsets as there are: they hold none.
    let empty = [segment(0, 10), segment(far - 10, 10), segment(far + 1, 0)];
    assert_eq!(group_segments(&empty, far + 100, 1000, 1000), std::slice::from_ref(&(0..3)));
}
