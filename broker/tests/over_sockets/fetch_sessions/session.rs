//! A client's side of a fetch session.

use pillion_wire::messages::fetch::{FetchPartition, ForgottenTopic};
use pillion_wire::messages::{FetchRequest, FetchResponse};
use uuid::Uuid;

use crate::support::{Client, Fetched, fetch_request};

/// A client's side of a session: it counts the epoch and sends what is put into `changed` and `forgotten`.
pub(super) struct Session {
    pub(super) id: i32,
    pub(super) epoch: i32,
    pub(super) version: i16,
    pub(super) topic_id: Uuid,
}

impl Session {
    /// Opens a session on topic `t`, of these partitions and offsets.
    pub(super) fn open(client: &mut Client, partitions: &[(i32, i64)]) -> (Self, FetchResponse) {
        Self::open_with(client, 12, Uuid::nil(), partitions)
    }

    pub(super) fn open_with(
        client: &mut Client,
        version: i16,
        topic_id: Uuid,
        partitions: &[(i32, i64)],
    ) -> (Self, FetchResponse) {
        let mut session = Self { id: 0, epoch: 0, version, topic_id };
        let answer = session.fetch(client, partitions, &[]);
        assert_eq!(answer.error_code, 0);
        session.id = answer.session_id;
        (session, answer)
    }

    pub(super) fn request(&mut self, changed: &[(i32, i64)], forgotten: &[i32]) -> FetchRequest {
        let mut request = fetch_request("t", 0, 0);
        (request.session_id, request.session_epoch) = (self.id, self.epoch);
        self.epoch = self.epoch.wrapping_add(1);
        let like = request.topics[0].partitions.remove(0);
        let partition = |(partition, fetch_offset): &(i32, i64)| FetchPartition {
            partition: *partition,
            fetch_offset: *fetch_offset,
            ..like.clone()
        };
        request.topics[0].partitions = changed.iter().map(partition).collect();
        request.topics[0].topic_id = self.topic_id;
        if !forgotten.is_empty() {
            let gone =
                ForgottenTopic { topic: "t".to_owned(), topic_id: self.topic_id, partitions: forgotten.to_vec() };
            request.forgotten_topics_data = vec![gone];
        }
        request
    }

    pub(super) fn fetch(&mut self, client: &mut Client, changed: &[(i32, i64)], forgotten: &[i32]) -> FetchResponse {
        let request = self.request(changed, forgotten);
        client.call(&request, self.version)
    }
}

/// Partition, error and whether there are records, of each partition an answer speaks of.
pub(super) fn spoken(answer: &FetchResponse) -> Vec<(i32, i16, bool)> {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|data| (data.partition_index, data.error_code, !data.bytes().is_empty())).collect()
}
