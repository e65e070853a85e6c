use super::*;

#[test]
fn every_event_type_is_found_by_its_name() {
    for event_type in EventType::ALL {
        assert_eq!(EventType::named(event_type.name()), Some(event_type));
    }
    assert_eq!(EventType::named("OrderShipped"), None);
}

#[test]
fn topic_follows_the_aggregate_type() {
    assert_eq!(EventType::OrderCancelled.topic(), "outbox.event.order");
    assert_eq!(EventType::PaymentRefunded.topic(), "outbox.event.payment");
    assert_eq!(EventType::StockUnavailable.topic(), "outbox.event.stock");
}

#[test]
fn payload_is_camel_case_and_a_missing_reason_stays_away() {
    let order = Order {
        order_id: Uuid::nil(),
        customer: "ada".into(),
        sku: "bicycle".into(),
        quantity: 1,
        amount_cents: 49_900,
        reason: None,
    };
    let text = serde_json::to_string(&order).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"orderId":"00000000-0000-0000-0000-000000000000","customer":"ada","sku":"bicycle","#,
            r#""quantity":1,"amountCents":49900}"#
        )
    );
    assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
    let stopped = serde_json::to_string(&order.because("out of stock")).unwrap();
    assert!(stopped.ends_with(r#""reason":"out of stock"}"#), "{stopped}");
}
