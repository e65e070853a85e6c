//! What a newcomer runs first.

use anyhow::Result;
use pillion_tests::program;

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_shows_both_orders_and_ends_with_success() -> Result<()> {
    // Builds the services' programs are looked for beside the demo's own.
    program::path("order")?;
    let output = program::command("pillion")?.args(["demo", "--once"]).output().await?;
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{said}");
    for event in [
        "OrderPlaced",
        "PaymentCompleted",
        "StockReserved",
        "OrderConfirmed",
        "StockUnavailable",
        "PaymentRefunded",
        "OrderCancelled",
    ] {
        assert!(shown.contains(event), "{event} is not shown:\n{shown}");
    }
    Ok(())
}
