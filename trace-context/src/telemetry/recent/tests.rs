use tracing_subscriber::layer::SubscriberExt;

use super::*;

#[test]
fn the_last_warnings_are_kept_newest_first_with_their_fields() {
    let subscriber = tracing_subscriber::registry().with(layer());
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("nothing to see");
        tracing::error!(target: "pgwire_replication::client", "said by the connector");
        for number in 0..KEPT_MAX + 5 {
            tracing::warn!(number, "the disk is slow");
        }
        tracing::error!("{}", "ü".repeat(TEXT_BYTES_MAX));
    });
    let seen = recent_warnings();
    assert_eq!(seen.len(), KEPT_MAX);
    assert!(seen[0].is_error && seen[0].text.len() <= TEXT_BYTES_MAX + '…'.len_utf8());
    assert!(seen[0].text.ends_with("ü…"));
    assert_eq!(seen[1].text, format!("the disk is slow number={}", KEPT_MAX + 4));
    assert!(seen.iter().all(|one| one.text != "nothing to see" && !one.target.starts_with(SILENT)));
}
