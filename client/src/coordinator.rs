//! Which broker coordinates a group or a transactional id: asked for once (FindCoordinator), remembered until a broker
//! says that it is not the one, or cannot be reached.
//!
//! **Invariant:** an attempt asks once. How often and how long to go on is the caller's to decide, for it knows what is
//! at stake.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pillion_wire::ErrorCode;
use pillion_wire::messages::find_coordinator::Coordinator;
use pillion_wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use crate::client::ClientShared;
use crate::error::ClientError;
use crate::metadata::{Broker, broker_address};

/// The first version with a list of keys (KIP-699).
const FIRST_WITH_LISTS: i16 = 4;
/// Coordinators remembered at most; beyond it all are forgotten and asked for again.
const REMEMBERED_MAX: usize = 1_024;

/// What a coordinator is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CoordinatorKind {
    /// A consumer group's members and offsets.
    Group,
    /// A transactional id's transactions.
    Transaction,
}

impl CoordinatorKind {
    /// The key type on the wire.
    fn code(self) -> i8 {
        match self {
            Self::Group => 0,
            Self::Transaction => 1,
        }
    }
}

/// The coordinators known.
#[derive(Debug, Default)]
pub(crate) struct Coordinators {
    known: Mutex<HashMap<(CoordinatorKind, String), Broker>>,
}

impl Coordinators {
    /// The coordinator of a key: the one known, or else the one a broker names now.
    ///
    /// # Errors
    /// [`ClientError::Broker`], retriable while the coordinator is being elected or its topic made; what the brokers
    /// could not be reached for.
    pub(crate) async fn find(
        &self,
        client: &ClientShared,
        kind: CoordinatorKind,
        key: &str,
    ) -> Result<Broker, ClientError> {
        if let Some(known) = self.lock().get(&(kind, key.to_owned())) {
            return Ok(known.clone());
        }
        let response = client.ask_any_by(|version| request(kind, key, version)).await?;
        let found = read(response, key)?;
        let mut known = self.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert((kind, key.to_owned()), found.clone());
        Ok(found)
    }

    /// Forgets a key's coordinator if it still is the broker with this id.
    pub(crate) fn forget(&self, kind: CoordinatorKind, key: &str, node: i32) {
        let mut known = self.lock();
        let place = (kind, key.to_owned());
        if known.get(&place).is_some_and(|broker| broker.id == node) {
            known.remove(&place);
        }
    }

    /// Forgets a key's coordinator, whichever it is.
    pub(crate) fn forget_any(&self, kind: CoordinatorKind, key: &str) {
        self.lock().remove(&(kind, key.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(CoordinatorKind, String), Broker>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an answer says that the coordinator is another broker, or none yet.
pub(crate) fn wants_lookup(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable)
}

fn request(kind: CoordinatorKind, key: &str, version: i16) -> FindCoordinatorRequest {
    let key_type = kind.code();
    if version >= FIRST_WITH_LISTS {
        FindCoordinatorRequest { key_type, coordinator_keys: vec![key.to_owned()], ..Default::default() }
    } else {
        FindCoordinatorRequest { key_type, key: key.to_owned(), ..Default::default() }
    }
}

/// The coordinator an answer names; the answer is a list from version 4 on.
fn read(response: FindCoordinatorResponse, key: &str) -> Result<Broker, ClientError> {
    let FindCoordinatorResponse { error_code, error_message, node_id, host, port, coordinators, .. } = response;
    let flat = Coordinator { key: key.to_owned(), node_id, host, port, error_code, error_message };
    let found = coordinators.into_iter().find(|found| found.key == key).unwrap_or(flat);
    match ErrorCode::from_code(found.error_code) {
        ErrorCode::None if !found.host.is_empty() => {
            Ok(Broker { id: found.node_id, address: broker_address(&found.host, found.port) })
        }
        // Without an error and without an address nothing was answered.
        ErrorCode::None => Err(broker_error(ErrorCode::CoordinatorNotAvailable, None)),
        code => Err(broker_error(code, found.error_message)),
    }
}

fn broker_error(code: ErrorCode, message: Option<String>) -> ClientError {
    ClientError::Broker { api: "FindCoordinator", code, message }
}

#[cfg(test)]
mod tests;
