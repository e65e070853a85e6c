use rdkafka::Timestamp;
use rdkafka::message::{Header, OwnedHeaders, OwnedMessage};

use super::*;

const ID: &str = "0190c5a0-0000-7000-8000-000000000001";
const ORDER: &str = concat!(
    r#"{"orderId":"0190c5a0-0000-7000-8000-0000000000aa","customer":"ada","sku":"bicycle","#,
    r#""quantity":1,"amountCents":5}"#
);

fn record(headers: &[(&str, &str)], payload: &str) -> OwnedMessage {
    let headers = headers
        .iter()
        .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(*value) }));
    OwnedMessage::new(
        Some(payload.as_bytes().to_vec()),
        None,
        "outbox.event.order".into(),
        Timestamp::NotAvailable,
        1,
        7,
        Some(headers),
    )
}

#[test]
fn wanted_event_is_read_from_headers_and_value() {
    let record = record(&[("id", ID), ("type", "OrderPlaced")], ORDER);
    let event = read(&record, &[EventType::OrderPlaced]).unwrap().unwrap();
    assert_eq!((event.id.to_string().as_str(), event.event_type), (ID, EventType::OrderPlaced));
    assert_eq!((event.order.sku.as_str(), event.order.amount_cents), ("bicycle", 5));
}

#[test]
fn events_of_others_are_none_of_our_business_whatever_they_hold() {
    assert_eq!(read(&record(&[("type", "OrderConfirmed")], "?"), &[EventType::OrderPlaced]).unwrap(), None);
    assert_eq!(read(&record(&[("type", "OrderShipped")], "?"), &[EventType::OrderPlaced]).unwrap(), None);
}

#[test]
fn unreadable_record_says_what_is_wrong() {
    let check = |record: OwnedMessage, expected: &str| {
        let error = read(&record, &[EventType::OrderPlaced]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(record(&[("id", ID)], ORDER), "`type`");
    check(record(&[("type", "OrderPlaced")], ORDER), "no header `id`");
    check(record(&[("type", "OrderPlaced"), ("id", "7")], ORDER), "not a UUID");
    check(record(&[("type", "OrderPlaced"), ("id", ID)], "{}"), "not an order");
}

#[test]
fn position_names_topic_partition_and_offset() {
    assert_eq!(position(&record(&[], "")), "outbox.event.order-1 at offset 7");
}
