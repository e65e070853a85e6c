//! Fetches: which are sent, and what becomes of their answers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::messages::FetchRequest;
use tokio::sync::oneshot;

use super::assigned::Reaction;
use super::request::{self, Wanted};
use super::{Consumer, Side};
use crate::connection::{Connection, ConnectionError};

/// A fetch under way.
pub(super) struct Fetch {
    pub(super) wanted: Vec<Wanted>,
    version: i16,
    pub(super) connection: Arc<Connection>,
    pub(super) answer: oneshot::Receiver<Result<Bytes, ConnectionError>>,
}

impl Consumer {
    /// Sends a fetch to every broker that has none under way and leads partitions with nothing left to hand out.
    pub(super) fn send_fetches(&mut self) {
        let now = Instant::now();
        let cluster = self.client.metadata.cluster();
        let mut by_leader: BTreeMap<i32, Vec<Wanted>> = BTreeMap::new();
        let mut occupied = HashSet::new();
        for index in 0..self.assigned.len() {
            let assigned = &self.assigned[index];
            let leader = cluster.leader(&assigned.topic, assigned.partition);
            // A fetch without this partition could hold it up for as long as the broker waits.
            if assigned.fetched.is_some() {
                occupied.extend(leader.map(|(node, _)| node));
            }
            let Some(position) = assigned.fetch_from(now) else { continue };
            let Some((node, leader_epoch)) = leader else {
                self.client.metadata.track(&assigned.topic, false);
                self.client.metadata.request();
                self.pause(index);
                continue;
            };
            by_leader.entry(node).or_default().push(Wanted {
                index,
                generation: assigned.generation,
                topic: assigned.topic.clone(),
                topic_id: cluster.topic(&assigned.topic).map_or_else(uuid::Uuid::nil, |topic| topic.id),
                partition: assigned.partition,
                leader_epoch,
                position,
            });
        }
        for (node, wanted) in by_leader {
            if !occupied.contains(&node) && !self.fetches.contains_key(&node) {
                self.send_fetch(node, wanted);
            }
        }
    }

    fn send_fetch(&mut self, node: i32, wanted: Vec<Wanted>) {
        let Some(connection) = self.pool.established(node) else { return self.connect(node) };
        for wanted in &wanted {
            self.client.metadata.track(&wanted.topic, false);
        }
        let version = match connection.version::<FetchRequest>(request::newest_version(&wanted)) {
            Ok(version) => version,
            Err(error) => {
                wanted.iter().for_each(|wanted| self.pause(wanted.index));
                return self.failed.push_back(error.into());
            }
        };
        let message = request::build(&self.config, version, &wanted);
        let timeout = self.config.fetch_max_wait + self.client.config.request_timeout;
        let answer = connection.exchange_later(&message, version, timeout);
        self.fetches.insert(node, Fetch { wanted, version, connection, answer });
    }

    fn connect(&mut self, node: i32) {
        if !self.connecting.insert(node) {
            return;
        }
        let (client, pool) = (self.client.clone(), self.pool.clone());
        self.side.spawn(async move {
            let cluster = client.metadata.cluster();
            let connected = match cluster.brokers.get(&node) {
                Some(broker) => pool.connection(broker).await.map(drop),
                None => Err(ConnectionError::UnknownBroker { node }),
            };
            if let Err(error) = &connected {
                tracing::debug!(broker = node, error = error as &dyn std::error::Error, "consumer cannot reach broker");
                client.metadata.request();
            }
            Side::Connected { node, failed: connected.is_err() }
        });
    }

    /// Takes in the answer to a fetch, or its absence.
    pub(super) fn absorb(&mut self, node: i32, fetch: &Fetch, answer: Result<Bytes, ConnectionError>) {
        let decoded = answer.and_then(|frame| fetch.connection.decode::<FetchRequest>(&frame, fetch.version));
        let response = match decoded {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(broker = node, error = &error as &dyn std::error::Error, "fetch failed");
                self.client.metadata.request();
                self.pause_all(&fetch.wanted);
                if let ConnectionError::Decode { .. } = error {
                    self.failed.push_back(error.into());
                }
                return;
            }
        };
        if !ErrorCode::from_code(response.error_code).is_ok() {
            self.pause_all(&fetch.wanted);
            return;
        }
        for (wanted, answer) in request::answers(response, fetch.version, &fetch.wanted) {
            let Some(index) = self.index_of(&wanted) else { continue };
            match self.assigned[index].take_in(answer) {
                Reaction::Taken => {}
                Reaction::Wait { refresh } => {
                    if refresh {
                        self.client.metadata.request();
                    }
                    self.pause(index);
                }
                Reaction::Fail(failure) => {
                    self.failed.push_back(failure);
                    self.pause(index);
                }
            }
        }
    }
}

impl Consumer {
    /// Where a partition that was asked for stands now; `None` when it is not read any more, or from elsewhere.
    fn index_of(&self, wanted: &Wanted) -> Option<usize> {
        let stays = self.assigned.get(wanted.index).is_some_and(|assigned| assigned.generation == wanted.generation);
        if stays { Some(wanted.index) } else { self.place_of(wanted.generation) }
    }

    fn pause_all(&mut self, wanted: &[Wanted]) {
        for wanted in wanted {
            if let Some(index) = self.index_of(wanted) {
                self.pause(index);
            }
        }
    }
}

/// The first answer to any fetch under way; never when there is none.
pub(super) async fn next_answer(
    fetches: &mut HashMap<i32, Fetch>,
) -> (i32, Fetch, Result<Result<Bytes, ConnectionError>, oneshot::error::RecvError>) {
    std::future::poll_fn(|context| {
        let ready =
            fetches.iter_mut().find_map(|(node, fetch)| match std::pin::Pin::new(&mut fetch.answer).poll(context) {
                Poll::Ready(answer) => Some((*node, answer)),
                Poll::Pending => None,
            });
        match ready.and_then(|(node, answer)| Some((node, fetches.remove(&node)?, answer))) {
            Some(answered) => Poll::Ready(answered),
            None => Poll::Pending,
        }
    })
    .await
}
