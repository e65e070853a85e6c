//! From when a committed offset's retention counts, which depends on how its group stands.

use std::collections::BTreeSet;

use super::super::record::CommittedOffset;
use super::super::subscription::subscribed_topics;
use super::delete::CONSUMER_PROTOCOL_TYPE;
use super::{Group, GroupState};

/// Which of a group's offsets may grow old, and since when.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Retention {
    /// None: members are at work whose topics are not known.
    Never,
    /// All, since the group became empty; `None` where that is not known: since their commit.
    SinceEmpty(Option<i64>),
    /// Those of topics not in this set, since their commit.
    SinceCommitExcept(BTreeSet<String>),
}

impl Group {
    /// Kafka's rules (KIP-211).
    pub(in super::super) fn retention(&self) -> Retention {
        let Some(protocol_type) = &self.protocol_type else {
            return Retention::SinceCommitExcept(BTreeSet::new());
        };
        match self.state {
            GroupState::Empty => Retention::SinceEmpty(self.state_since_ms),
            GroupState::Stable if **protocol_type == *CONSUMER_PROTOCOL_TYPE => {
                self.topics_in_use().map_or(Retention::Never, Retention::SinceCommitExcept)
            }
            _ => Retention::Never,
        }
    }

    /// The topics of all members' subscriptions; `None` where they cannot be read, or not all.
    pub(super) fn topics_in_use(&self) -> Option<BTreeSet<String>> {
        let protocol_name = self.protocol_name.as_deref()?;
        let mut topics = BTreeSet::new();
        for member in self.members.iter() {
            let metadata = member.metadata_for(protocol_name);
            topics.extend(subscribed_topics(&metadata)?);
        }
        Some(topics)
    }
}

impl Retention {
    /// Whether an offset is to be dropped.
    pub(in super::super) fn is_over(
        &self,
        topic: &str,
        committed: &CommittedOffset,
        now_ms: i64,
        retention_ms: i64,
    ) -> bool {
        let since_ms = match self {
            Self::Never => return false,
            Self::SinceEmpty(since_ms) => since_ms.unwrap_or(committed.commit_timestamp_ms),
            Self::SinceCommitExcept(in_use) if in_use.contains(topic) => return false,
            Self::SinceCommitExcept(_) => committed.commit_timestamp_ms,
        };
        match committed.expire_timestamp_ms {
            Some(expire_timestamp_ms) => now_ms >= expire_timestamp_ms,
            None => now_ms.saturating_sub(since_ms) >= retention_ms,
        }
    }
}
