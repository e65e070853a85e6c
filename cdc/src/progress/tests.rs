use bytes::Bytes;
use proptest::prelude::*;

use super::record::{RecordError, decode, encode};
use super::{Choices, Progress, SourceName, StartError, check};
use crate::lsn::Lsn;
use crate::replication::{ServerIdentity, SlotPosition};

fn progress(commit_lsn: u64, ordinal: u64, end_lsn: u64) -> Progress {
    Progress {
        system_id: "7".to_owned(),
        timeline: 1,
        commit_lsn: Lsn::new(commit_lsn),
        ordinal,
        end_lsn: Lsn::new(end_lsn),
        last_event_id: Some(Bytes::from_static(b"id")),
        snapshot: None,
    }
}

fn server(confirmed: u64, is_new: bool) -> ServerIdentity {
    let slot = SlotPosition { confirmed: Lsn::new(confirmed), is_new, is_pending: false };
    ServerIdentity { system_id: "7".to_owned(), timeline: 1, flush_lsn: Lsn::new(1000), slot }
}

fn begin(server: &ServerIdentity, progress: Option<&Progress>, choices: Choices) -> Result<Progress, StartError> {
    let name = SourceName { system_id: server.system_id.clone(), slot: "pillion".to_owned() };
    check(server, &name, progress, choices)
}

const NONE: Choices = Choices { adopt_slot: false, accept_timeline: false };
const ADOPT: Choices = Choices { adopt_slot: true, accept_timeline: false };
const ACCEPT: Choices = Choices { adopt_slot: false, accept_timeline: true };

#[test]
fn rows_are_published_up_to_the_ordinal_or_the_end_of_their_transaction() {
    let partial = progress(100, 3, 50);
    assert!(partial.is_partial());
    assert!(partial.covers(Lsn::new(49), 9) && partial.covers(Lsn::new(100), 3));
    assert!(!partial.covers(Lsn::new(100), 4) && !partial.covers(Lsn::new(101), 1));
    let whole = progress(100, 3, 110);
    assert!(!whole.is_partial() && whole.covers(Lsn::new(100), 4));
    assert!(!whole.covers(Lsn::new(110), 1));
}

#[test]
fn a_new_slot_without_progress_begins_where_it_was_made() {
    let begun = begin(&server(200, true), None, NONE).unwrap();
    assert_eq!((begun.end_lsn, begun.timeline, begun.system_id.as_str()), (Lsn::new(200), 1, "7"));
}

#[test]
fn a_used_slot_without_progress_has_to_be_adopted() {
    let error = begin(&server(200, false), None, NONE).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("--adopt-slot") && text.contains("__pillion-progress-7-pillion"), "{text}");
    assert_eq!(begin(&server(200, false), None, ADOPT).unwrap().end_lsn, Lsn::new(200));
}

#[test]
fn a_slot_behind_the_progress_is_resumed_from_the_progress() {
    let kept = progress(300, 2, 310);
    for confirmed in [0, 200, 310] {
        assert_eq!(begin(&server(confirmed, false), Some(&kept), NONE).unwrap(), kept);
    }
}

#[test]
fn a_slot_ahead_of_the_progress_was_moved_by_another_and_halts() {
    let kept = progress(300, 2, 310);
    let error = begin(&server(311, true), Some(&kept), NONE).unwrap_err();
    assert!(matches!(error, StartError::SlotAhead { .. }), "{error}");
    assert!(error.to_string().contains("republish --from 0/136"), "{error}");
    assert_eq!(begin(&server(311, true), Some(&kept), ADOPT).unwrap().end_lsn, Lsn::new(311));
}

#[test]
fn another_history_halts_until_it_is_accepted() {
    let kept = progress(300, 2, 310);
    let behind = ServerIdentity { flush_lsn: Lsn::new(309), ..server(200, false) };
    let timeline = ServerIdentity { timeline: 2, ..server(200, false) };
    let system = ServerIdentity { system_id: "8".to_owned(), ..server(200, false) };
    for (server, resumed) in [(behind, 200), (timeline, 310), (system, 200)] {
        let error = begin(&server, Some(&kept), NONE).unwrap_err();
        assert!(error.to_string().contains("--accept-timeline"), "{error}");
        let begun = begin(&server, Some(&kept), ACCEPT).unwrap();
        assert_eq!(begun.end_lsn, Lsn::new(resumed), "{error}");
        assert_eq!((begun.timeline, &begun.system_id), (server.timeline, &server.system_id));
    }
}

#[test]
fn a_later_version_is_refused_and_so_is_rubbish() {
    let mut value = encode(&progress(1, 2, 3)).to_vec();
    value[1] = 2;
    assert_eq!(decode(&value), Err(RecordError::Version(2)));
    let value = encode(&progress(1, 2, 3));
    for length in 0..value.len() {
        assert!(matches!(decode(&value[..length]), Err(RecordError::Malformed(_))), "cut at {length}");
    }
    let mut longer = value.to_vec();
    longer.push(0);
    assert_eq!(decode(&longer), Err(RecordError::Malformed("end")));
}

proptest! {
    #[test]
    fn a_record_says_what_was_written(
        positions in any::<(u32, u64, u64, u64)>(),
        id in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..50)),
        snapshot in proptest::option::of("[0-9:,]{0,40}"),
        system_id in "[0-9]{1,20}",
    ) {
        let (timeline, commit_lsn, ordinal, end_lsn) = positions;
        let written = Progress {
            system_id,
            timeline,
            commit_lsn: Lsn::new(commit_lsn),
            ordinal,
            end_lsn: Lsn::new(end_lsn),
            last_event_id: id.map(Bytes::from),
            snapshot,
        };
        prop_assert_eq!(decode(&encode(&written)), Ok(written));
    }

    #[test]
    fn any_bytes_are_read_or_refused(value in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&value);
    }
}
