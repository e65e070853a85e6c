//! Where mails go: a file each, in the place of a mail server, or a line of the log.
//!
//! Invariant: a mail has an idempotency key, and one that was sent before is not sent again. Real providers take such a
//! key as a header of the request.

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use tokio::fs;
use tracing::info;

use crate::events::Order;

/// Addresses at which nobody can be reached (RFC 2606).
const UNREACHABLE: &str = ".invalid";

/// A directory of mails, or none.
pub(super) struct Mailbox {
    directory: Option<PathBuf>,
}

/// What became of a mail.
pub(super) enum Delivery {
    Sent,
    /// It can never be sent, with the reason.
    Refused(String),
}

impl Mailbox {
    /// `directory` is made when it is missing; an empty one stands for the log.
    pub(super) async fn open(directory: &str) -> Result<Mailbox> {
        if directory.is_empty() {
            return Ok(Mailbox { directory: None });
        }
        fs::create_dir_all(directory).await.with_context(|| format!("MAIL_DIRECTORY={directory}"))?;
        Ok(Mailbox { directory: Some(directory.into()) })
    }

    /// Tells the customer how the order ended, once.
    pub(super) async fn deliver(&self, order: &Order, is_good_news: bool) -> Result<Delivery> {
        let Order { order_id, customer, quantity, sku, reason, .. } = order;
        if customer.ends_with(UNREACHABLE) {
            return Ok(Delivery::Refused(format!("{customer} cannot be reached")));
        }
        let outcome = if is_good_news { "confirmed" } else { "cancelled" };
        let because = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let text = format!("Dear {customer}, your order of {quantity} {sku} is {outcome}{because}.\n");
        let Some(directory) = &self.directory else {
            info!("mail {order_id}-{outcome}: {}", text.trim_end());
            return Ok(Delivery::Sent);
        };
        let path = directory.join(format!("{order_id}-{outcome}.txt"));
        let is_sent = fs::try_exists(&path).await.with_context(|| format!("cannot look for {}", path.display()))?;
        if !is_sent {
            // Whole or not at all, and the same whoever writes it.
            let draft = path.with_extension("draft");
            fs::write(&draft, text).await.with_context(|| format!("cannot write {}", draft.display()))?;
            match fs::rename(&draft, &path).await {
                // Another instance was quicker with the same.
                Err(error) if error.kind() == ErrorKind::NotFound => (),
                renamed => renamed.with_context(|| format!("cannot write {}", path.display()))?,
            }
        }
        Ok(Delivery::Sent)
    }
}
