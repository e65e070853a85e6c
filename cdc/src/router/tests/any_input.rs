//! Whatever a row or a message holds, it is an event or an error.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn any_row_gives_an_event_or_an_error(
        values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)), 7),
        types in proptest::collection::vec(prop::sample::select(&[UUID, TEXT, BYTEA, BIGINT, BOOLEAN, TIMESTAMP, TIMESTAMPTZ][..]), 7),
    ) {
        let names = ["id", "aggregatetype", "aggregateid", "type", "payload", "tracingspancontext", "at"];
        let columns = names.iter().zip(types).map(|(name, type_id)| Column { name: (*name).to_owned(), type_id, type_modifier: -1 });
        let relation = Relation { id: 1, schema: "s".to_owned(), name: "t".to_owned(), columns: columns.collect() };
        let router = router(&[
            ("table.field.event.timestamp", "at"),
            ("table.fields.additional.placement", "at:header,type:envelope,at:envelope:at2"),
        ]);
        let row: Vec<Cell> = values.into_iter().map(|value| value.map_or(Cell::Null, |value| Cell::Text(value.into()))).collect();
        let layout = router.layout(&relation).unwrap();
        let _ = router.route(&layout, &row, 0);
    }

    #[test]
    fn any_emitted_content_gives_an_event_or_an_error(content in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = router(&[]).route_emitted(&content.into(), 0);
    }
}
