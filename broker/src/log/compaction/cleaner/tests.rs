mod history;
mod rounds;

use pillion_wire::records::Record;
use proptest::prelude::*;

use self::history::{Event, History, Segments, events};
use self::rounds::{Cleaning, Context, RETENTION_MS, batches, records, seal};
use super::*;
use crate::kafka_fixture::KafkaFixture;

fn cleaning() -> impl Strategy<Value = Cleaning> {
    let budget = prop_oneof![1 => Just(0_usize), 1 => 0_usize..200, 3 => Just(1 << 20)];
    (budget, 1_usize..3000, prop_oneof![Just(1_u64), 1_u64..5000]).prop_map(
        |(dedupe_buffer_bytes, chunk_bytes, segment_bytes)| Cleaning {
            now_ms: 5_000_000,
            first_dirty_offset: 0,
            dedupe_buffer_bytes,
            chunk_bytes,
            segment_bytes,
        },
    )
}

const PLAIN: Cleaning = Cleaning {
    now_ms: 5_000_000,
    first_dirty_offset: 0,
    dedupe_buffer_bytes: 1 << 20,
    chunk_bytes: 100,
    segment_bytes: 10_000,
};

fn offsets(segments: &Segments) -> Vec<i64> {
    records(segments).iter().map(|record| record.offset).collect()
}

/// What holds for a log at any time of its life: what is there was written so, in order, and nothing a reader or a
/// producer needs is missing.
fn check_log(history: &History, segments: &Segments) {
    let (now, before) = (batches(segments), batches(&history.segments));
    let mut next_offset = 0;
    for (header, _) in &now {
        assert!(header.base_offset >= next_offset);
        next_offset = header.next_offset();
    }
    let left = records(segments);
    for record in &left {
        let written = history.written.iter().find(|written| written.record.offset == record.offset).unwrap();
        assert_eq!(*record, written.record);
    }
    let below = now.iter().rfind(|(header, _)| header.base_offset < history.bound);
    assert_eq!(below.map_or(0, |(header, _)| header.next_offset()), history.bound, "the end is still found");
    for (producer, last) in &history.last_records {
        let of = |header: &BatchHeader| header.producer_id == *producer;
        let last_batch = |batches: &[(BatchHeader, Vec<_>)]| {
            let data = batches.iter().rfind(|(header, _)| of(header) && !header.is_control());
            data.map(|(header, _)| (header.last_offset(), header.last_sequence(), header.producer_epoch))
        };
        match last.last_data_offset {
            Some(_) => assert_eq!(last_batch(&now), last_batch(&before)),
            None => assert!(now.iter().any(|(header, _)| of(header) && header.is_control())),
        }
    }
    // A marker stays as long as a record of its transaction does.
    for (marker, transaction) in &history.markers {
        let of = |record: &Record| history.transaction_at(record.offset) == Some(*transaction);
        if left.iter().any(of) {
            let stays = |(header, records): &(BatchHeader, Vec<_>)| header.base_offset == *marker && records.len() == 1;
            assert!(now.iter().any(stays), "marker {marker}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_cleaned_log_holds_the_latest_committed_record_of_each_key(events in events(), cleaning in cleaning()) {
        let mut history = History::of(&events);
        let mut segments = history.segments.clone();
        history.clean(&mut segments, cleaning);
        prop_assert_eq!(offsets(&segments), history.survivors(true));
        check_log(&history, &segments);
        let count = |segments: &Segments| (batches(segments).len(), records(segments).len());
        prop_assert!(count(&segments) <= count(&history.segments));

        // Cleaned again at the same time, only markers without data change, and after that nothing.
        let again = Cleaning { first_dirty_offset: history.bound, ..cleaning };
        history.clean(&mut segments, again);
        let settled = segments.clone();
        prop_assert_eq!(offsets(&segments), history.survivors(true));
        history.clean(&mut segments, again);
        prop_assert_eq!(&bytes(&segments), &bytes(&settled));
        history.clean(&mut segments, Cleaning { now_ms: again.now_ms + RETENTION_MS - 1, ..again });
        prop_assert_eq!(&bytes(&segments), &bytes(&settled), "the retention is not over");

        history.clean(&mut segments, Cleaning { now_ms: again.now_ms + RETENTION_MS, ..again });
        prop_assert_eq!(offsets(&segments), history.survivors(false));
        check_log(&history, &segments);
    }

    #[test]
    fn a_cleaning_cut_between_two_groups_and_begun_again_ends_as_if_it_had_not_been(
        events in events(),
        cleaning in cleaning(),
    ) {
        // Cleaning only the first segments, as if the cut came behind their swap, leaves a log that later cleans up.
        let mut history = History::of(&events);
        let mut segments = history.segments.clone();
        let bound = history.bound;
        history.bound = history.segments.iter().map(|(base, _)| *base).find(|base| base * 2 >= bound).unwrap_or(bound);
        history.clean(&mut segments, cleaning);
        history.bound = bound;
        history.clean(&mut segments, cleaning);
        prop_assert_eq!(offsets(&segments), history.survivors(true));
        check_log(&history, &segments);
    }
}

fn bytes(segments: &Segments) -> Vec<u8> {
    segments.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
}

/// A batch of producer 0 whose records have the values that `records` gives for keys.
fn plain(records: &[(u8, Option<u8>)]) -> Event {
    Event::Batch { producer: 0, records: records.to_vec(), codec: 0 }
}

#[test]
fn a_segment_that_kafka_cleaned_is_what_this_cleaner_makes_of_the_same_records() {
    let kafka = KafkaFixture::unpack().read("compacted-0/00000000000000000000.log");
    let mut uncleaned = Vec::new();
    let rounds: [&[(&str, Option<&str>)]; 3] = [
        &[("a", Some("a0")), ("b", Some("b0")), ("c", Some("c0")), ("d", Some("d0")), ("e", Some("e0"))],
        &[("a", Some("a1")), ("b", Some("b1")), ("c", Some("c1")), ("d", Some("d1")), ("e", Some("e1"))],
        &[("a", Some("a2")), ("b", Some("b2")), ("e", None)],
    ];
    for (round, records) in rounds.iter().enumerate() {
        let timestamp = 1_700_000_000_000 + 2000 * round as i64;
        uncleaned.extend(history::stamped(records, timestamp, 5 * round as i64));
    }
    let mut history = History::cleanable_to(13);
    let mut segments = vec![(0, uncleaned), (13, Vec::new())];
    // Kafka cleaned it with a delete.retention.ms of a day; here it is a second.
    let now_ms = 1_796_072_375_125 - RETENTION_MS;
    history.clean(&mut segments, Cleaning { now_ms, ..PLAIN });
    assert_eq!(segments, [(0, kafka.clone()), (13, Vec::new())]);

    // Kafka's own segment stays as it is until its delete horizon.
    let mut segments = vec![(0, kafka.clone()), (13, Vec::new())];
    let again = Cleaning { first_dirty_offset: 13, now_ms: 1_796_072_375_124, ..PLAIN };
    history.clean(&mut segments, again);
    assert_eq!(segments[0].1, kafka);
    history.clean(&mut segments, Cleaning { now_ms: 1_796_072_375_125, ..again });
    assert_eq!(offsets(&segments), [7, 8, 10, 11]);
    assert_eq!(batches(&segments)[1].0.next_offset(), 13);
}

#[test]
fn a_marker_goes_a_retention_after_the_first_cleaning_that_finds_nothing_of_its_transaction() {
    for commit in [true, false] {
        let of = |key, value| Event::Batch { producer: 1, records: vec![(key, Some(value))], codec: 0 };
        let end = |commit| Event::End { producer: 1, commit };
        let mut history =
            History::of(&[of(1, 1), end(commit), plain(&[(1, Some(2))]), Event::Roll, of(2, 2), end(true)]);
        let mut segments = history.segments.clone();
        let mut clean = |now_ms| {
            history.clean(&mut segments, Cleaning { now_ms, ..PLAIN });
            let marker = batches(&segments).iter().find(|(header, _)| header.base_offset == 1).cloned();
            (marker.map(|(header, records)| (records.len(), header.delete_horizon_ms())), history.index.len())
        };
        assert_eq!(clean(10_000), (Some((1, None)), usize::from(!commit)), "this cleaning removed the data");
        assert_eq!(clean(20_000), (Some((1, Some(20_000 + RETENTION_MS))), 0));
        assert_eq!(clean(20_000 + RETENTION_MS - 1), (Some((1, Some(20_000 + RETENTION_MS))), 0));
        assert_eq!(clean(20_000 + RETENTION_MS), (None, 0));
    }
}

#[test]
fn records_without_a_key_are_dropped_and_counted() {
    let batch = history::stamped(&[("", Some("no key")), ("a", Some("1"))], 1, 0);
    let sealed = seal(&[(0, batch), (2, Vec::new())], 2);
    let history = History::cleanable_to(2);
    let (last_records, mut output) = (HashMap::new(), Vec::new());
    let mut context = Context { index: &[], bytes_left: usize::MAX };
    let mut cleaner = Cleaner::map_keys(history.settings(PLAIN), &sealed, &last_records, &mut context).unwrap();
    let append = &mut |batch: &[u8], _: &BatchHeader| {
        output.extend_from_slice(batch);
        Ok(())
    };
    cleaner.clean_group(&sealed, &mut context, append).unwrap();
    assert_eq!((cleaner.statistics().records_without_key, cleaner.statistics().records_removed), (1, 1));
    assert_eq!(offsets(&vec![(0, output)]), [1]);
}

#[test]
fn damage_anywhere_ends_the_cleaning_with_its_place() {
    let history = History::of(&[
        plain(&[(1, Some(1)), (2, Some(2))]),
        plain(&[(1, Some(3))]),
        Event::Roll,
        plain(&[(1, Some(4))]),
    ]);
    let second = BatchHeader::parse(&history.segments[0].1).unwrap().size();
    // The leader epoch, bytes 12 to 15, is outside the checksum and means nothing here.
    for at in (0..second * 2 - 20).filter(|at| !(12..16).contains(&(at % second))) {
        let mut segments = history.segments.clone();
        let Some(byte) = segments[0].1.get_mut(at) else { break };
        *byte ^= 0x40;
        let sealed = seal(&segments, history.bound);
        let mut context = Context { index: &[], bytes_left: usize::MAX };
        let error =
            Cleaner::map_keys(history.settings(PLAIN), &sealed, &history.last_records, &mut context).err().unwrap();
        let position = if at < second { 0 } else { second as u64 };
        match &error {
            CompactionError::Damaged { position: found, .. } | CompactionError::OutOfOrder { position: found, .. } => {
                assert_eq!(*found, position, "byte {at}: {error}");
            }
            _ => panic!("byte {at}: {error}"),
        }
        assert!(error.to_string().contains("/log/00000000000000000000.log"));
    }
}

#[test]
fn a_cleaning_ends_when_its_owner_says_so_or_the_new_segment_cannot_be_written() {
    let history = History::of(&[plain(&[(1, Some(1))]), Event::Roll, plain(&[(1, Some(4))])]);
    let sealed = seal(&history.segments, history.bound);
    let map = |bytes_left| {
        let mut context = Context { index: &[], bytes_left };
        Cleaner::map_keys(history.settings(PLAIN), &sealed, &history.last_records, &mut context)
    };
    assert!(matches!(map(10), Err(CompactionError::Stopped)));
    let mut context = Context { index: &[], bytes_left: usize::MAX };
    let refused =
        map(1000).unwrap().clean_group(&sealed, &mut context, &mut |_, _| Err(io::ErrorKind::StorageFull.into()));
    assert!(matches!(refused, Err(CompactionError::Write { .. })));
}
