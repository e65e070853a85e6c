//! What can go wrong with a member of a consumer group.

use pillion_wire::ErrorCode;
use thiserror::Error;

use crate::connection::ConnectionError;
use crate::error::ClientError;

/// A group consumer that cannot go on, or something it could not do.
#[derive(Debug, Clone, Error)]
pub enum GroupError {
    /// The group does not take this member, now or later.
    #[error("{api} was refused with {code}{}", advice(*.code))]
    Refused {
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
    },
    /// Another member has the same `group.instance.id`.
    #[error("another member has this member's group.instance.id; each needs one of its own")]
    InstanceFenced,
    /// The member is no longer of the generation it commits for: another may read its partitions already. It joins
    /// again by itself.
    #[error(
        "offsets were not committed ({code}): the member is no longer of its group's generation; poll to join again"
    )]
    NotOfGeneration {
        /// Kafka's error.
        code: ErrorCode,
    },
    /// A rebalance is under way; what was not committed can be after it, of partitions that are kept.
    #[error("offsets were not committed: a rebalance is under way; poll, then commit again")]
    Rebalancing,
    /// The coordinator did not commit.
    #[error("offsets were not committed: {code}")]
    NotCommitted {
        /// Kafka's error.
        code: ErrorCode,
    },
    /// Nothing is committed for a partition and the configuration names no place to begin at.
    #[error("nothing is committed for {topic}-{partition}, and auto.offset.reset is none; seek to begin somewhere")]
    NoOffset {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
    },
    /// The configuration cannot be used.
    #[error("{what}")]
    Configuration {
        /// What is wrong with it.
        what: &'static str,
    },
    /// Reading, or reaching the cluster, failed.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl GroupError {
    /// What a member cannot go on behind.
    pub(super) fn of_member(api: &'static str, code: ErrorCode) -> Self {
        match code {
            ErrorCode::FencedInstanceId => Self::InstanceFenced,
            code => Self::Refused { api, code },
        }
    }

    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } | Self::NotOfGeneration { code } | Self::NotCommitted { code } => Some(*code),
            Self::InstanceFenced => Some(ErrorCode::FencedInstanceId),
            Self::Rebalancing => Some(ErrorCode::RebalanceInProgress),
            Self::Client(error) => error.error_code(),
            Self::NoOffset { .. } | Self::Configuration { .. } => None,
        }
    }
}

impl From<ConnectionError> for GroupError {
    fn from(error: ConnectionError) -> Self {
        Self::Client(error.into())
    }
}

fn advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InconsistentGroupProtocol => {
            "; the group's other members have no assignor in common with this one, or it is of another kind"
        }
        ErrorCode::InvalidSessionTimeout => {
            "; session.timeout.ms must lie between the broker's group.min.session.timeout.ms and \
             group.max.session.timeout.ms"
        }
        ErrorCode::GroupMaxSizeReached => "; the group has as many members as the broker's group.max.size allows",
        ErrorCode::GroupAuthorizationFailed => "; the principal needs READ on the group",
        _ => "",
    }
}
