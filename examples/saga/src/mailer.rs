//! The mailer: writes to customers how their order ended. It has no database.
//!
//! What it is to do stands in the topics before it does it, committed by whoever wants it; what it has done stands there
//! afterwards, as an answer. So whatever it was about when it was killed, it finds in the log: it does it again, and the
//! second time has no effect. Invariant: an offset is committed only when the mail is out and the answer published.

mod mailbox;

use anyhow::Result;
use axum::Router;
use tracing::info;
use uuid::Uuid;

use crate::events::{MAIL_REFUSED, MAIL_SENT, ORDER_CANCELLED, ORDER_CONFIRMED, Order, SEND_MAIL, Style};
use crate::http::{serve, stop_on_signal};
use crate::messaging::{Event, Parked, Process, Producer, Subscription, consume};
use crate::settings::{Settings, variable};
use crate::telemetry;
use mailbox::{Delivery, Mailbox};

const SUBSCRIPTION: Subscription =
    Subscription { group: "mailer", events: &[ORDER_CONFIRMED, ORDER_CANCELLED, SEND_MAIL] };

/// The whole program.
///
/// # Errors
/// When the settings are wrong or the HTTP address is not to be had.
pub fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run(SUBSCRIPTION.group, run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let mailbox = Mailbox::open(&variable("MAIL_DIRECTORY", String::new())?).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let producer = Producer::new(&settings.bootstrap_servers, SUBSCRIPTION.group)?;
    tokio::try_join!(
        serve(&settings.http_listen, Router::new(), stop.clone()),
        consume(SUBSCRIPTION, settings, Mailer { mailbox, producer }, stop.clone()),
    )?;
    Ok(())
}

struct Mailer {
    mailbox: Mailbox,
    producer: Producer,
}

impl Process for Mailer {
    async fn process(&self, event: &Event) -> Result<()> {
        let order: Order = event.payload()?;
        let is_choreographed = order.style == Style::Choreographed;
        let (is_good_news, wants_answer) = match event.kind {
            SEND_MAIL => (true, true),
            ORDER_CONFIRMED if is_choreographed => (true, true),
            // The saga has ended: nobody waits for the answer.
            ORDER_CANCELLED => (false, false),
            _ => return Ok(()),
        };
        let delivery = self.mailbox.deliver(&order, is_good_news).await?;
        if wants_answer {
            let answer = match delivery {
                Delivery::Sent => (MAIL_SENT, order),
                Delivery::Refused(reason) => (MAIL_REFUSED, order.because(reason)),
            };
            // The same question has the same answer, with the same id: whoever reads it twice can tell.
            let id = Uuid::new_v5(&event.id, answer.0.name.as_bytes());
            self.producer.publish(id, answer.0, &event.key, &answer.1).await?;
        }
        info!("{} of {} processed", event.kind.name, event.key);
        Ok(())
    }

    async fn park(&self, parked: &Parked) -> Result<()> {
        self.producer.park(SUBSCRIPTION.group, parked).await
    }
}
