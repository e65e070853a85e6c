//! Decides upon an account as it has been read so far, publishes the decision, and waits to read what became of it.
//!
//! Invariant: a cause grants once. Whoever dies between publishing and noting that the cause is done publishes again
//! after the restart; the second event names the same cause and counts for nothing.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pillion_saga::database::{Conflict, Database};
use pillion_saga::loyalty::{POINTS_GRANTED, PointsGranted};
use pillion_saga::messaging::{Event, Parked, Process, Producer};
use tokio::time::{Instant, sleep};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use uuid::Uuid;

use crate::loyalty::accounts;
use crate::loyalty::earning::{Earned, earned};

/// How often an account may turn out to have changed before the cause is tried again later.
const ATTEMPTS: usize = 10;

/// How long what was published may take to be read.
const READ_LIMIT: Duration = Duration::from_secs(10);

const READ_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Granting {
    database: Database,
    producer: Producer,
}

impl Granting {
    /// # Errors
    /// When the client refuses its configuration.
    pub(crate) fn new(bootstrap_servers: &str, database: Database) -> Result<Granting> {
        Ok(Granting { database, producer: Producer::new(bootstrap_servers, "loyalty")? })
    }

    /// Returns when the cause has been granted, by us or before.
    async fn grant(&self, earned: &Earned) -> Result<()> {
        let Earned { cause, customer, points } = earned;
        for _ in 0..ATTEMPTS {
            if accounts::is_granted(&self.database, *cause).await? {
                return Ok(());
            }
            let account = accounts::find(&self.database, customer).await?.unwrap_or_default();
            let balance = account.points.checked_add(*points).context("nobody can have so many points")?;
            let version = account.version + 1;
            let granted =
                PointsGranted { customer: customer.clone(), points: *points, balance, version, cause: *cause };
            let sent = self.producer.publish(Uuid::now_v7(), POINTS_GRANTED, customer, &granted).await?;
            self.read_back(sent).await?;
        }
        if accounts::is_granted(&self.database, *cause).await? {
            return Ok(());
        }
        bail!(Conflict("the account"))
    }

    async fn read_back(&self, (partition, offset): (i32, i64)) -> Result<()> {
        let deadline = Instant::now() + READ_LIMIT;
        // Looking again and again is not worth a span each.
        let is_read = || accounts::has_read(&self.database, partition, offset).with_subscriber(NoSubscriber::default());
        while !is_read().await? {
            if Instant::now() > deadline {
                bail!(Conflict("the account, which is far behind its topic,"));
            }
            sleep(READ_PAUSE).await;
        }
        Ok(())
    }
}

impl Process for Granting {
    async fn process(&self, event: &Event) -> Result<()> {
        match earned(event)? {
            Some(earned) => self.grant(&earned).await,
            None => Ok(()),
        }
    }

    async fn park(&self, parked: &Parked) -> Result<()> {
        self.producer.park("loyalty", parked).await
    }
}
