//! Why rows are not published again, and where to go on.

use thiserror::Error;

use crate::causes;
use crate::control::ControlError;
use crate::lsn::Lsn;
use crate::outbox::row_time::NoRowTime;
use crate::publish::PublishError;
use crate::router::{LayoutError, RouteError, TopicRouteError};

/// Nothing was published, or not everything.
#[derive(Debug, Error)]
pub enum RepublishError {
    /// The database.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A connector is at work.
    #[error(
        "slot {slot} is streamed from by {holder}: stop that connector first, or events of one key would arrive out of order"
    )]
    Running {
        /// The slot.
        slot: String,
        /// Who.
        holder: String,
    },
    /// The event is in none of the tables.
    #[error("no table has the event {id}: it may be pruned; name a later one, or a time")]
    NoEvent {
        /// Its id.
        id: String,
    },
    /// Positions mean nothing to a table.
    #[error(
        "rows cannot be found by position {lsn}: that needs the extension pg_walinspect (PostgreSQL 15; CREATE EXTENSION pg_walinspect, and GRANT pg_read_server_files to the role). Without it, name the id of the first event that is missing (`pillion outbox status` shows the last one published) or a time"
    )]
    NoWalInspect {
        /// The position.
        lsn: Lsn,
    },
    /// The log from there on is not there any more, or not for us.
    #[error(
        "the log from position {lsn} on cannot be read ({reason}): name the id of the first event that is missing (`pillion outbox status` shows the last one published) or a time"
    )]
    NoWal {
        /// The position.
        lsn: Lsn,
        /// The server's words.
        reason: String,
    },
    /// Rows without a time.
    #[error(transparent)]
    NoRowTime(#[from] NoRowTime),
    /// The topic rule.
    #[error(transparent)]
    TopicRoute(#[from] TopicRouteError),
    /// A table is no outbox.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A row no record can be made of.
    #[error("event {id} cannot be published; leave such rows out with on.error=skip. Those before it are published")]
    Row {
        /// Its id, as far as it can be read.
        id: String,
        /// Why.
        #[source]
        source: RouteError,
    },
    /// The cluster.
    #[error("{}; what is not certain to be stored begins with event {from}: go on with --from {from}", causes::text(.source))]
    Publish {
        /// The first event that is not acknowledged.
        from: String,
        /// Why.
        source: PublishError,
    },
    /// The cluster, before anything was sent.
    #[error(transparent)]
    Cluster(PublishError),
}

impl From<tokio_postgres::Error> for RepublishError {
    fn from(error: tokio_postgres::Error) -> RepublishError {
        RepublishError::Control(error.into())
    }
}
