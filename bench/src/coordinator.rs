//! Coordinators of groups and transactions: waited for until they are there, asked again while they are busy.
//!
//! One broker is asked, so its coordinators are where everything else is. Kafka makes the topic behind a coordinator
//! when the first client looks for it, and says meanwhile that it has none.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use pillion_wire::messages::FindCoordinatorRequest;
use pillion_wire::{ErrorCode, Request};

use crate::connection::{ANSWER_WAIT_MAX, Connection, error_name};

/// Before a coordinator that is not ready is asked again.
const PAUSE: Duration = Duration::from_millis(1);
/// The version of FindCoordinator that is spoken: the first with a list of keys.
const FIND_VERSION: i16 = 4;

/// What a coordinator is for, by FindCoordinator's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The members and offsets of a group.
    Group = 0,
    /// The transactions of a transactional id.
    Transaction = 1,
}

/// What a coordinator answered once it was ready.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    /// The answer.
    pub(crate) response: T,
    /// Its error number; 0 means none.
    pub(crate) error_code: i16,
    /// How often was asked again.
    pub(crate) asked_again: u64,
}

impl<T> Answer<T> {
    /// Fails for any error, with its name.
    pub(crate) fn check(self) -> Result<Self> {
        ensure!(self.error_code == 0, "{}", error_name(self.error_code));
        Ok(self)
    }
}

/// Looks for a group's or a transactional id's coordinator until there is one.
pub(crate) fn find(connection: &mut Connection, kind: Kind, key: &str) -> Result<()> {
    let keys = vec![key.to_owned()];
    let request =
        FindCoordinatorRequest { key_type: kind as i8, coordinator_keys: keys, ..FindCoordinatorRequest::default() };
    let answer = ask(connection, &request, FIND_VERSION, |response| Some(response.coordinators.first()?.error_code))?;
    answer.check().map(drop).with_context(|| format!("the coordinator of {key}"))
}

/// Asks, and asks again after a pause for as long as the answer's error says that the coordinator is not there yet or
/// that the transaction before is still being ended.
///
/// # Errors
/// When the coordinator stays so for as long as any answer may take, and when the answer has no error number at all.
pub(crate) fn ask<R: Request>(
    connection: &mut Connection,
    request: &R,
    version: i16,
    error_of: impl Fn(&R::Response) -> Option<i16>,
) -> Result<Answer<R::Response>> {
    let deadline = Instant::now() + ANSWER_WAIT_MAX;
    let mut asked_again = 0;
    loop {
        let response = connection.ask(request, version)?;
        let error_code = error_of(&response).with_context(|| format!("{} answered nothing", R::API))?;
        if !is_passing(error_code) {
            return Ok(Answer { response, error_code, asked_again });
        }
        if Instant::now() > deadline {
            bail!("{} is answered {} all the time", R::API, error_name(error_code));
        }
        asked_again += 1;
        thread::sleep(PAUSE);
    }
}

/// Whether a coordinator's error goes away by itself.
fn is_passing(code: i16) -> bool {
    matches!(
        ErrorCode::from_code(code),
        ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::ConcurrentTransactions
    )
}
