//! Whether a connector may begin where slot and progress say. Pure.
//!
//! Whatever contradicts itself halts the connector: going on would lose rows or publish them again, and only a person
//! knows which of the two places to believe.

use thiserror::Error;

use super::{Progress, SourceName};
use crate::lsn::Lsn;
use crate::replication::ServerIdentity;

/// What the operator has allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Choices {
    /// `adopt.slot`: take the slot's position for the truth where there is no progress record.
    pub(crate) adopt_slot: bool,
    /// `accept.timeline`: go on after a failover or a restored backup.
    pub(crate) accept_timeline: bool,
}

/// Slot, server and progress contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StartError {
    /// Nothing says what was published before the slot's position.
    #[error(
        "slot {slot} stands at {confirmed}, and topic {topic} holds no progress record: if the slot was used before (by another connector, or the topic was deleted), start once with --adopt-slot (adopt.slot=true) to publish what was committed after {confirmed}; what lies before it counts as published (with snapshot=initial, drop an unused slot instead: it is made together with the snapshot)"
    )]
    NoProgress {
        /// The slot.
        slot: String,
        /// What it was told last.
        confirmed: Lsn,
        /// Where the progress would stand.
        topic: String,
    },
    /// The slot has moved on without us: it was made anew, or advanced.
    #[error(
        "slot {slot} stands at {confirmed}, beyond {published}, up to which rows are published: it was made anew or advanced by something else, and rows committed between the two are not in the stream; publish them from the table (pillion outbox republish --from {published}), then start once with --adopt-slot (adopt.slot=true)"
    )]
    SlotAhead {
        /// The slot.
        slot: String,
        /// What it was told last.
        confirmed: Lsn,
        /// The progress record's end.
        published: Lsn,
    },
    /// The slot is gone.
    #[error(
        "slot {slot} does not exist, and rows up to {published} are published: rows committed since are in no stream; make the slot (pillion outbox init), publish them from the table (pillion outbox republish --from {published}), then start once with --adopt-slot (adopt.slot=true)"
    )]
    SlotGone {
        /// The slot.
        slot: String,
        /// The progress record's end.
        published: Lsn,
    },
    /// The server lacks what we published from it.
    #[error(
        "rows up to {published} are published, but the server's log ends at {flushed}: it was restored from a backup or failed over with a loss, and the rows published since are not in the database; check what they caused, then start once with --accept-timeline (accept.timeline=true) to go on from the slot's position {confirmed}: what was committed since is published, again if it was before"
    )]
    ServerBehind {
        /// The progress record's end.
        published: Lsn,
        /// How far the server's log reaches.
        flushed: Lsn,
        /// What the slot was told last.
        confirmed: Lsn,
    },
    /// Another history of the database.
    #[error(
        "rows up to {published} were published from timeline {was}, and the server is on timeline {is}: it was failed over or restored; if nothing that was published is missing in the database, start once with --accept-timeline (accept.timeline=true) to go on from there"
    )]
    Timeline {
        /// The progress record's end.
        published: Lsn,
        /// The progress record's timeline.
        was: u32,
        /// The server's.
        is: u32,
    },
    /// Another database altogether.
    #[error(
        "the progress record is of database system {was}, and the server is {is}; use another slot.name, or start once with --accept-timeline (accept.timeline=true) to go on from the slot's position {confirmed}"
    )]
    System {
        /// The progress record's.
        was: String,
        /// The server's.
        is: String,
        /// What the slot was told last.
        confirmed: Lsn,
    },
}

/// Where to begin: everything that the result covers is published. `progress` is the last committed record.
///
/// # Errors
/// [`StartError`] says what contradicts itself, and how to go on.
pub(crate) fn check(
    server: &ServerIdentity,
    name: &SourceName,
    progress: Option<&Progress>,
    choices: Choices,
) -> Result<Progress, StartError> {
    let confirmed = server.slot.confirmed;
    let from_slot = || Ok(Progress::up_to(server, confirmed));
    let Some(progress) = progress else {
        if server.slot.is_new || choices.adopt_slot {
            return from_slot();
        }
        return Err(StartError::NoProgress { slot: name.slot.clone(), confirmed, topic: name.progress_topic() });
    };
    let published = progress.end_lsn;
    if server.slot.is_pending {
        // Written down before the slot was made, and then it was not: nothing is published.
        if progress.snapshot.is_some() && progress.ordinal == 0 {
            return from_slot();
        }
        return Err(StartError::SlotGone { slot: name.slot.clone(), published });
    }
    if progress.system_id != server.system_id {
        if choices.accept_timeline {
            return from_slot();
        }
        return Err(StartError::System { was: progress.system_id.clone(), is: server.system_id.clone(), confirmed });
    }
    if published > server.flush_lsn {
        if choices.accept_timeline {
            return from_slot();
        }
        return Err(StartError::ServerBehind { published, flushed: server.flush_lsn, confirmed });
    }
    if progress.timeline != server.timeline && !choices.accept_timeline {
        return Err(StartError::Timeline { published, was: progress.timeline, is: server.timeline });
    }
    // Rows that were there before the slot have the position just before it.
    let is_before_slot = progress.snapshot.is_some() && confirmed.bytes_since(published) == 1;
    if confirmed > published && !is_before_slot {
        if choices.adopt_slot {
            return from_slot();
        }
        return Err(StartError::SlotAhead { slot: name.slot.clone(), confirmed, published });
    }
    Ok(Progress { timeline: server.timeline, ..progress.clone() })
}
