//! ListTransactions (66), versions 0 to 2: the transactional ids there are (KIP-664, KIP-994, KIP-1152).
//!
//! What is told is durable. Ids whose producer has begun nothing are listed, too. A pattern must match the whole id;
//! one that is no regular expression is answered with INVALID_REGULAR_EXPRESSION.

use std::collections::HashSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::list_transactions::TransactionState as ListedState;
use pillion_wire::messages::{ListTransactionsRequest, ListTransactionsResponse};
use regex_lite::{Regex, RegexBuilder};

use super::gathering::Gathering;
use crate::clock::now_ms;
use crate::dispatch::{Call, Flow};
use crate::transactions::shard::{Listed, TransactionShard};
use crate::transactions::state::TransactionState;

/// Bytes of a pattern. Longer ones are refused: compiling takes time.
const PATTERN_BYTES_MAX: usize = 1024;
/// Bytes it may become: `(.{1000}){300}` is short, and every id would be held against each of its hundred thousand states.
const COMPILED_BYTES_MAX: usize = 32 * 1024;

/// What is to be listed.
struct Filter {
    /// Empty for all; `None` where a name is of no state.
    states: Vec<Option<TransactionState>>,
    producer_ids: HashSet<i64>,
    lasted_longer_ms: i64,
    pattern: Option<Regex>,
}

/// Answers once all that is told is durable.
pub(crate) fn handle(call: Call, request: ListTransactionsRequest) -> Flow {
    let refusal =
        |error: ErrorCode| ListTransactionsResponse { error_code: error.code(), ..ListTransactionsResponse::default() };
    let pattern = match request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty()) {
        None => None,
        Some(pattern) if pattern.len() <= PATTERN_BYTES_MAX => match compiled(pattern) {
            Ok(pattern) => Some(pattern),
            Err(_) => return call.answer(&refusal(ErrorCode::InvalidRegularExpression)),
        },
        Some(_) => return call.answer(&refusal(ErrorCode::InvalidRegularExpression)),
    };
    let unknown_state_filters =
        request.state_filters.iter().filter(|name| TransactionState::of_name(name).is_none()).cloned().collect();
    let filter = Arc::new(Filter {
        states: states_of(&request.state_filters),
        producer_ids: request.producer_id_filters.into_iter().collect(),
        lasted_longer_ms: request.duration_filter,
        pattern,
    });
    let mut response = ListTransactionsResponse { unknown_state_filters, ..ListTransactionsResponse::default() };
    let shards: Vec<_> = call.broker.transactions.shards().cloned().collect();
    let responder = call.responder;
    let seen = Arc::new(Gathering::new(shards.len(), move |seen: Vec<Result<Vec<Listed>, ErrorCode>>| {
        for listed in seen {
            match listed {
                Ok(listed) => response.transaction_states.extend(listed.into_iter().map(shown)),
                Err(error) => response.error_code = error.code(),
            }
        }
        responder.answer(&response);
    }));
    for (place, shard) in shards.iter().enumerate() {
        let (filter, seen) = (Arc::clone(&filter), Arc::clone(&seen));
        let read = move |core: &TransactionShard| {
            core.list(now_ms()).into_iter().filter(|listed| filter.takes(listed)).collect()
        };
        shard.read(|core| core.is_write_under_way(None), read, move |listed| seen.put(place, listed));
    }
    Flow::Done
}

/// The pattern, to be matched by whole ids.
fn compiled(pattern: &str) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(COMPILED_BYTES_MAX).build()
}

/// Each state named once, however often it was: transactions are compared with all of them.
fn states_of(names: &[String]) -> Vec<Option<TransactionState>> {
    let mut states = Vec::new();
    for state in names.iter().map(|name| TransactionState::of_name(name)) {
        if !states.contains(&state) {
            states.push(state);
        }
    }
    states
}

impl Filter {
    fn takes(&self, listed: &Listed) -> bool {
        (self.states.is_empty() || self.states.contains(&Some(listed.state)))
            && (self.producer_ids.is_empty() || self.producer_ids.contains(&listed.producer_id))
            && (self.lasted_longer_ms < 0 || listed.lasted_ms > self.lasted_longer_ms)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&listed.transactional_id))
    }
}

fn shown(listed: Listed) -> ListedState {
    ListedState {
        transactional_id: listed.transactional_id.to_string(),
        producer_id: listed.producer_id,
        transaction_state: listed.state.name().to_owned(),
    }
}
