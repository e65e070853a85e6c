//! What a newcomer runs first.

use anyhow::Result;
use pillion_tests::program;

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_shows_its_orders_in_both_styles_and_ends_with_success() -> Result<()> {
    // The services are looked for beside the demo's own program.
    program::path("shop")?;
    let output = program::command("pillion")?.args(["demo", "--once"]).output().await?;
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{said}");
    for event in [
        "OrderPlaced",
        "PaymentCompleted",
        "StockReserved",
        "OrderConfirmed",
        "MailSent",
        "ReserveStock",
        "StockUnavailable",
        "PaymentRefunded",
        "OrderCancelled",
    ] {
        assert!(shown.contains(event), "{event} is not shown:\n{shown}");
    }
    Ok(())
}

/// Each fault with what must be on the screen beside the demo's own verdict.
const FAULTS: [(&str, &[&str]); 6] = [
    ("payment-declined", &["PaymentDeclined", "saga ABORTED", "above the limit"]),
    ("out-of-stock", &["RefundPayment", "saga COMPENSATED", "UNDONE", "of unicorn in stock"]),
    ("db-paused", &["HTTP 500", "saga COMPLETED"]),
    ("slow-payment", &["asked again", "Payments of the order: COMPLETED"]),
    ("duplicate-events", &["saga COMPLETED", "Payments of the order: COMPLETED"]),
    ("poison", &["Parked", "outbox.event.order-2", "saga COMPLETED"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_on_request_is_shown_and_ends_as_it_must() -> Result<()> {
    program::path("shop")?;
    for (fault, expected) in FAULTS {
        let arguments = ["demo", "--once", "--fault", fault];
        let output = program::command("pillion")?.args(arguments).output().await?;
        let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{fault}:\n{shown}\n{said}");
        for text in expected {
            assert!(shown.contains(text), "{fault}: {text} is not shown:\n{shown}");
        }
    }
    Ok(())
}
