//! `pillion cdc`: the outbox connector alone.

use anyhow::Result;
use clap::Args;

use super::flags::{ConfigurationFlags, ConnectorFlags};
use super::process::{self, Kind};
use crate::config::Parts;
use crate::{sidecar, signals};

/// Run the outbox connector alone, against pillion's broker or an Apache Kafka cluster
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion cdc --postgres postgresql://shop:secret@localhost/shop --bootstrap 127.0.0.1:9092
  pillion cdc --postgres URL --bootstrap kafka-1:9092,kafka-2:9092 --table orders.outbox
  pillion cdc --postgres URL --set 'route.topic.replacement=events.${routedByValue}'

Several outboxes, each with a slot of its own, in one process: in the --config file a table for each,
  [connector.orders]
  postgres.url = \"postgresql://…/orders\"
which inherits whatever it does not say from the plain keys (slot: pillion_orders).

The database needs wal_level=logical, a publication with the outbox table, and a replication slot:
`pillion outbox init` prints or makes them, --auto-init makes them at the start.")]
pub(super) struct Arguments {
    #[command(flatten)]
    connector: ConnectorFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let read = move || {
            self.configuration.read(Parts { broker: false, connector: true }, |layers| {
                self.connector.add_to(layers);
            })
        };
        let configuration = read()?;
        let level = configuration.log_level.clone();
        process::run_at(Kind::Service, level.as_deref(), async {
            sidecar::run(configuration, Box::new(read), signals::stop_on_signal()?).await
        })
    }
}
