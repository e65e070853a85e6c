use super::RepublishFrom;
use crate::lsn::Lsn;

#[test]
fn positions_times_and_ids_are_told_apart() {
    let read = |text: &str| text.parse::<RepublishFrom>();
    assert_eq!(read("16/B374D848"), Ok(RepublishFrom::Lsn(Lsn::new(0x16_B374_D848))));
    for time in ["2026-01-31", "2026-01-31T12:00:00Z", " 2026-01-31 12:00:00+01 "] {
        assert_eq!(read(time), Ok(RepublishFrom::Time(time.trim().to_owned())));
    }
    for id in ["20260131-0000-4000-8000-000000000001", "42", "order/7", "2026"] {
        assert_eq!(read(id), Ok(RepublishFrom::Id(id.to_owned())));
    }
    for wrong in ["", " ", "a\0b"] {
        assert!(read(wrong).is_err());
    }
}
