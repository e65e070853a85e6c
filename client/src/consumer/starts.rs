//! Where partitions begin: offsets by name or time, looked up beside the polling.

use std::time::Instant;

use super::assigned::Place;
use super::fetched::Position;
use super::{Consumer, Side};
use crate::client::ClientShared;
use crate::error::ClientError;
use crate::offsets::{self, ListedOffset, Offset};

impl Consumer {
    /// Has the offsets looked up that partitions begin at.
    pub(super) fn look_up_starts(&mut self) {
        let now = Instant::now();
        if self.looking_up {
            return;
        }
        let mut lookups = Vec::new();
        let mut asked = Vec::new();
        for assigned in &self.assigned {
            if let Place::Start(offset) = assigned.place
                && assigned.not_before.is_none_or(|at| at <= now)
            {
                lookups.push((assigned.topic.clone(), assigned.partition, offset));
                asked.push(assigned.generation);
            }
        }
        if lookups.is_empty() {
            return;
        }
        self.looking_up = true;
        let (client, isolation) = (self.client.clone(), self.config.isolation_level.code());
        self.side.spawn(async move {
            let found = find_starts(&client, lookups, isolation).await;
            Side::Found { asked, found }
        });
    }

    /// Takes in an offset looked up for a partition, unless it was moved since.
    pub(super) fn start(&mut self, place: Option<usize>, found: ListedOffset) {
        let Some(assigned) = place.and_then(|index| self.assigned.get_mut(index)) else { return };
        if let (Some(offset), Place::Start(_)) = (found.offset, assigned.place) {
            assigned.place = Place::At(Position { offset, last_epoch: -1 });
        }
    }
}

/// Looks offsets up; a timestamp behind the last record stands for the log's end.
async fn find_starts(
    client: &ClientShared,
    lookups: Vec<offsets::Lookup>,
    isolation: i8,
) -> Result<Vec<ListedOffset>, ClientError> {
    let wait = client.config.request_timeout;
    let mut found: Vec<ListedOffset> =
        offsets::list(client, lookups.clone(), isolation, wait).await?.into_iter().map(|(_, found)| found).collect();
    let beyond: Vec<usize> = (0..found.len()).filter(|index| found[*index].offset.is_none()).collect();
    if !beyond.is_empty() {
        let ends = beyond.iter().map(|index| (lookups[*index].0.clone(), lookups[*index].1, Offset::Latest)).collect();
        for (index, (_, end)) in beyond.into_iter().zip(offsets::list(client, ends, isolation, wait).await?) {
            found[index] = end;
        }
    }
    Ok(found)
}
