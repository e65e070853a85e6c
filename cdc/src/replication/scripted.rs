//! A server that says what a test has written down, and fails where it says so.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    ReplicationError, ReplicationEvent, ReplicationSession, ReplicationSource, Resume, ServerIdentity, SlotPosition,
};
use crate::lsn::Lsn;
use crate::pgoutput::Message;
use crate::progress::Progress;

/// One step of a session.
pub(crate) enum Step {
    /// It says this.
    Event(ReplicationEvent),
    /// It fails so.
    Fail(ReplicationError),
}

/// What was asked of the server.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Positions the sessions started at.
    pub(crate) started: Vec<Lsn>,
    /// Positions confirmed, in order, across sessions.
    pub(crate) confirmed: Vec<Lsn>,
    /// Sessions left in order.
    pub(crate) closed: usize,
}

/// Sessions to play, one after another; after the last it cannot be reached.
pub(crate) struct ScriptedSource {
    pub(crate) sessions: VecDeque<Result<Vec<Step>, ReplicationError>>,
    pub(crate) record: Arc<Mutex<Record>>,
}

/// A session that says its steps and then nothing.
pub(crate) struct ScriptedSession {
    steps: VecDeque<Step>,
    record: Arc<Mutex<Record>>,
}

impl ScriptedSource {
    pub(crate) fn new(sessions: Vec<Result<Vec<Step>, ReplicationError>>) -> ScriptedSource {
        ScriptedSource { sessions: sessions.into(), record: Arc::default() }
    }
}

impl ReplicationSource for ScriptedSource {
    type Session = ScriptedSession;

    async fn open(&mut self, resume: Option<&Resume>) -> Result<(ServerIdentity, ScriptedSession), ReplicationError> {
        let slot = SlotPosition { confirmed: Lsn::ZERO, is_new: true, is_pending: false };
        let server = ServerIdentity { system_id: "7".to_owned(), timeline: 1, flush_lsn: Lsn::new(u64::MAX), slot };
        let steps =
            self.sessions.pop_front().unwrap_or_else(|| Err(ReplicationError::Lost("the script is over".into())))?;
        self.record.lock().started.push(resume.map_or(Lsn::ZERO, |resume| resume.position(&server)));
        Ok((server, ScriptedSession { steps: steps.into(), record: Arc::clone(&self.record) }))
    }

    async fn until_free(&mut self) {}
}

impl ReplicationSession for ScriptedSession {
    fn resume_at(&mut self, _progress: &Progress) {}

    async fn next(&mut self) -> Result<ReplicationEvent, ReplicationError> {
        match self.steps.pop_front() {
            Some(Step::Event(event)) => Ok(event),
            Some(Step::Fail(error)) => Err(error),
            None => std::future::pending().await,
        }
    }

    fn confirm(&self, lsn: Lsn) {
        let mut record = self.record.lock();
        if lsn > record.confirmed.last().copied().unwrap_or(Lsn::ZERO) {
            record.confirmed.push(lsn);
        }
    }

    fn server_lsn(&self) -> Lsn {
        Lsn::ZERO
    }

    async fn close(self) {
        self.record.lock().closed += 1;
    }
}

impl From<Message> for Step {
    fn from(message: Message) -> Step {
        Step::Event(ReplicationEvent::Message(message))
    }
}
