//! The rows before the slot, said as one transaction; steps 2 to 4 of [`super`].

use pgwire_replication::ReplicationClient;
use tokio::sync::{mpsc, watch};

use super::of_stopped;
use crate::control::Control;
use crate::lsn::Lsn;
use crate::polling::look::Look;
use crate::polling::poller::{Poller, Published, Stopped};
use crate::polling::window::{Window, WindowError};
use crate::polling::{Delivery, Options};
use crate::postgres_url::PostgresUrl;
use crate::quoting::literal;
use crate::replication::pgwire::{PostgresSession, PostgresSource, explain, of_control};
use crate::replication::{ReplicationError, ReplicationEvent, ReplicationSource};

/// From step 2 on: waits until it is written down which rows there are, makes the slot and takes it, and says the rows.
pub(super) async fn begin(
    mut source: PostgresSource,
    (mut temporary, temporary_name): (ReplicationClient, String),
    (mut poller, look, window): (Poller, Look, Window),
    mut committed: watch::Receiver<Lsn>,
) -> Result<Option<PostgresSession>, ReplicationError> {
    let position = window.position();
    poller.say(ReplicationEvent::Snapshot(Some(window.to_text())), 0).await.map_err(of_stopped)?;
    let written_down = ReplicationEvent::KeepAlive { wal_end: position, is_urgent: true };
    poller.say(written_down, 0).await.map_err(of_stopped)?;
    committed.wait_for(|committed| *committed >= position).await.map_err(|_| of_stopped(Stopped::Unheard))?;

    let (from, to) = (literal(&temporary_name), literal(&source.source.slot));
    let copy = format!("SELECT pg_copy_logical_replication_slot({from}, {to}, false)");
    temporary.simple_query(&copy).await.map_err(|error| explain(error, source.row_bytes_max))?;
    tracing::info!(slot = source.source.slot, position = %window.end(), "slot made; rows that were there before it come first");
    let (_, stream) = source.open(None).await?;
    drop(temporary);
    say(&mut poller, &look, Some((&window, None))).await.map_err(of_stopped)?;
    Ok(Some(stream))
}

/// Says those rows of the window that are not published; none without one.
pub(super) async fn resume(
    url: PostgresUrl,
    options: Options,
    (window, published): (Result<Option<Window>, WindowError>, Option<Published>),
    events: mpsc::Sender<Delivery>,
) -> Result<Option<PostgresSession>, ReplicationError> {
    let window = window.map_err(|error| ReplicationError::Refused { reason: error.to_string(), hint: "" })?;
    let control = Control::connect(&url).await.map_err(of_control)?;
    let mut poller = Poller::new(control, options, events, false);
    let look = poller.look_with(None).await.map_err(of_stopped)?;
    say(&mut poller, &look, window.as_ref().map(|window| (window, published))).await.map_err(of_stopped)?;
    Ok(None)
}

async fn say(poller: &mut Poller, look: &Look, window: Option<(&Window, Option<Published>)>) -> Result<(), Stopped> {
    let end = window.as_ref().map(|(window, _)| window.end());
    if let Some((window, published)) = window {
        poller.publish(window, look, published).await?;
    }
    poller.say(ReplicationEvent::Snapshot(None), 0).await?;
    if let Some(wal_end) = end {
        poller.say(ReplicationEvent::KeepAlive { wal_end, is_urgent: true }, 0).await?;
    }
    poller.end_look().await?;
    tracing::info!("rows that were there before the slot have been read");
    Ok(())
}
