//! Whether a fetch stands for itself or goes on with a session, and what its answer speaks of.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use pillion_wire::ErrorCode;
use pillion_wire::messages::FetchRequest;
use tokio::sync::Semaphore;

use super::cold::{COLD_READS_MAX, READ_AHEADS_MAX};
use super::search::Search;
use super::sessions::{SessionCache, SessionLimits, SharedSession};
use super::wanted::{Wanted, forgotten, wanted};
use crate::config::BrokerConfig;
use crate::network::session::ConnectionId;

/// The session epoch that asks for a session.
const INITIAL_EPOCH: i32 = 0;
/// The session epoch of a client that wants none.
const FINAL_EPOCH: i32 = -1;
/// The first version that names topics by id.
const TOPIC_IDS_SINCE: i16 = 13;
/// Partitions in all sessions together, at less than 64 bytes each.
const SESSION_PARTITIONS_MAX: usize = 250_000;

/// What fetches of one broker share.
pub(crate) struct FetchState {
    sessions: Mutex<SessionCache>,
    /// Answers that may wait for the disk at the same time.
    pub(super) cold_reads: Arc<Semaphore>,
    /// Read-aheads that may go on at the same time.
    pub(super) read_aheads: Arc<Semaphore>,
}

/// What a request asks for, together with its session.
pub(super) struct Asked {
    pub(super) wanted: Vec<Wanted>,
    /// The place to look at first.
    pub(super) first: usize,
    pub(super) context: Context,
}

/// What a fetch belongs to.
pub(super) enum Context {
    /// A whole request; its answer speaks of every partition. It may have opened a session.
    Whole { connection: ConnectionId, session: Option<SharedSession> },
    /// A request within a session, of this epoch; its answer speaks of what has changed.
    Changes { session: SharedSession, epoch: i32 },
}

impl FetchState {
    pub(crate) fn new(config: &BrokerConfig) -> Self {
        let limits = SessionLimits {
            sessions: config.fetch_sessions_max,
            partitions: SESSION_PARTITIONS_MAX,
            safe_for: config.fetch_session_safe_for,
        };
        Self {
            sessions: Mutex::new(SessionCache::new(limits)),
            cold_reads: Arc::new(Semaphore::new(COLD_READS_MAX)),
            read_aheads: Arc::new(Semaphore::new(READ_AHEADS_MAX)),
        }
    }

    /// Ends the session of a connection, which is gone.
    pub(crate) fn disconnected(&self, connection: ConnectionId) {
        self.sessions.lock().disconnected(connection);
    }

    /// Takes a request in. Its lists of topics are taken out of it.
    ///
    /// # Errors
    /// What is wrong with its session.
    pub(super) fn begin(
        &self,
        connection: ConnectionId,
        version: i16,
        request: &mut FetchRequest,
    ) -> Result<Asked, ErrorCode> {
        let (id, epoch, by_id) = (request.session_id, request.session_epoch, version >= TOPIC_IDS_SINCE);
        let wanted = wanted(std::mem::take(&mut request.topics), by_id);
        let now = Instant::now();
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            let mut sessions = self.sessions.lock();
            sessions.close(id);
            let first = sessions.take_first(connection);
            let first = first.and_then(|first| wanted.iter().position(|wanted| wanted.key() == first.key()));
            let session = if epoch == INITIAL_EPOCH {
                sessions.open(connection, by_id, &wanted, now, rand::random::<i32>)
            } else {
                None
            };
            let context = Context::Whole { connection, session };
            return Ok(Asked { wanted, first: first.unwrap_or(0), context });
        }
        let forgotten = forgotten(&request.forgotten_topics_data);
        let session = self.sessions.lock().go_on((id, epoch), by_id, wanted, forgotten, now)?;
        let Some(session) = session else {
            // Kafka goes on without a session that has become empty.
            let context = Context::Whole { connection, session: None };
            return Ok(Asked { wanted: Vec::new(), first: 0, context });
        };
        let (wanted, first) = {
            let session = session.lock();
            (session.wanted(), session.first())
        };
        Ok(Asked { wanted, first, context: Context::Changes { session, epoch } })
    }
}

impl Context {
    /// Marks the places that the answer speaks of, notes them as told, and answers the session's number.
    ///
    /// # Errors
    /// INVALID_FETCH_SESSION_EPOCH when the client has not waited for this answer.
    pub(super) fn tell(&self, state: &FetchState, search: &mut Search) -> Result<i32, ErrorCode> {
        let starved = search.starved().cloned();
        match self {
            Self::Whole { connection, session } => {
                search.places.iter_mut().for_each(|place| place.is_told = true);
                let Some(session) = session else {
                    if let Some(starved) = starved {
                        state.sessions.lock().begin_with(*connection, &starved);
                    }
                    return Ok(0);
                };
                let mut session = session.lock();
                for (place, number) in search.places.iter().zip(0..) {
                    session.tell(number, &place.wanted, place.report());
                }
                session.begin_with(starved.as_ref());
                Ok(session.id())
            }
            Self::Changes { session, epoch } => {
                let mut session = session.lock();
                if !session.is_answering(*epoch) {
                    return Err(ErrorCode::InvalidFetchSessionEpoch);
                }
                for (place, number) in search.places.iter_mut().zip(0..) {
                    place.is_told = session.tell(number, &place.wanted, place.report());
                }
                session.begin_with(starved.as_ref());
                Ok(session.id())
            }
        }
    }
}
