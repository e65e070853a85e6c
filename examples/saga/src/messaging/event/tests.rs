use rdkafka::Timestamp;
use rdkafka::message::{Header, OwnedHeaders, OwnedMessage};

use super::*;
use crate::events::{ORDER_CONFIRMED, ORDER_PLACED, Order};

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
        Some(b"7".to_vec()),
        "outbox.event.order".into(),
        Timestamp::NotAvailable,
        1,
        7,
        Some(headers),
    )
}

#[test]
fn wanted_event_is_read_from_headers_key_and_value() {
    let record = record(&[("id", ID), ("type", "OrderPlaced")], ORDER);
    let event = read(&record, &[ORDER_PLACED]).unwrap().unwrap();
    assert_eq!((event.id.to_string().as_str(), event.kind, event.key.as_str()), (ID, ORDER_PLACED, "7"));
    let order: Order = event.payload().unwrap();
    assert_eq!((order.sku.as_str(), order.amount_cents), ("bicycle", 5));
}

#[test]
fn events_of_others_are_none_of_our_business_whatever_they_hold() {
    assert!(read(&record(&[("type", "OrderConfirmed")], "?"), &[ORDER_PLACED]).unwrap().is_none());
    assert!(read(&record(&[("type", "OrderShipped")], "?"), &[ORDER_PLACED, ORDER_CONFIRMED]).unwrap().is_none());
    let elsewhere = EventKind::new("parcel", "OrderPlaced");
    assert!(read(&record(&[("type", "OrderPlaced")], "?"), &[elsewhere]).unwrap().is_none());
}

#[test]
fn unreadable_record_says_what_is_wrong() {
    let check = |record: OwnedMessage, expected: &str| {
        let error = read(&record, &[ORDER_PLACED]).unwrap_err();
        let parked = unreadable(&record, &error);
        assert!(parked.reason.contains(expected), "{}", parked.reason);
        assert_eq!((parked.topic.as_str(), parked.partition, parked.offset), ("outbox.event.order", 1, 7));
    };
    check(record(&[("id", ID)], ORDER), "`type`");
    check(record(&[("type", "OrderPlaced")], ORDER), "no header `id`");
    check(record(&[("type", "OrderPlaced"), ("id", "7")], ORDER), "not a UUID");
}

#[test]
fn a_value_that_is_no_order_is_named() {
    let event = read(&record(&[("type", "OrderPlaced"), ("id", ID)], "{}"), &[ORDER_PLACED]).unwrap().unwrap();
    let error = event.payload::<Order>().unwrap_err();
    assert!(error.to_string().contains("OrderPlaced"), "{error}");
}
