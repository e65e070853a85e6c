use super::*;

#[test]
fn topic_follows_the_aggregate_type() {
    assert_eq!(ORDER_CANCELLED.topic(), "outbox.event.order");
    assert_eq!(PAYMENT_REFUNDED.topic(), "outbox.event.payment");
    assert_eq!(RELEASE_STOCK.topic(), "outbox.event.stock-command");
}

#[test]
fn payload_is_camel_case_and_a_missing_reason_stays_away() {
    let order = Order {
        order_id: Uuid::nil(),
        customer: "ada".into(),
        sku: "bicycle".into(),
        quantity: 1,
        amount_cents: 49_900,
        style: Style::Orchestrated,
        reason: None,
    };
    let text = serde_json::to_string(&order).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"orderId":"00000000-0000-0000-0000-000000000000","customer":"ada","sku":"bicycle","#,
            r#""quantity":1,"amountCents":49900,"style":"orchestrated"}"#
        )
    );
    assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
    let stopped = serde_json::to_string(&order.because("out of stock")).unwrap();
    assert!(stopped.ends_with(r#""reason":"out of stock"}"#), "{stopped}");
}

#[test]
fn an_order_without_a_style_is_choreographed() {
    let text =
        r#"{"orderId":"00000000-0000-0000-0000-000000000000","customer":"a","sku":"b","quantity":1,"amountCents":1}"#;
    assert_eq!(serde_json::from_str::<Order>(text).unwrap().style, Style::Choreographed);
}
