use super::{Resume, ServerIdentity, SlotPosition};
use crate::lsn::Lsn;

fn server(system_id: &str, timeline: u32, flush: u64) -> ServerIdentity {
    ServerIdentity {
        system_id: system_id.to_owned(),
        timeline,
        flush_lsn: Lsn::new(flush),
        slot: SlotPosition::default(),
    }
}

#[test]
fn the_same_server_is_resumed_where_the_broker_acknowledged() {
    let resume = Resume { system_id: "7".to_owned(), timeline: 1, confirmed: Lsn::new(50) };
    assert_eq!(resume.position(&server("7", 1, 100)), Lsn::new(50));
    assert_eq!(resume.position(&server("7", 1, 50)), Lsn::new(50));
}

#[test]
fn another_server_or_timeline_or_a_shorter_log_starts_at_the_slot() {
    let resume = Resume { system_id: "7".to_owned(), timeline: 1, confirmed: Lsn::new(50) };
    for other in [server("8", 1, 100), server("7", 2, 100), server("7", 1, 49)] {
        assert_eq!(resume.position(&other), Lsn::ZERO, "{other:?}");
    }
}
