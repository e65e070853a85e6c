//! `pillion run`: broker and connector in one process.

use anyhow::Result;
use clap::Args;

use super::flags::{BrokerFlags, ConfigurationFlags, ConnectorFlags};
use super::process::{self, Kind};
use crate::config::Parts;
use crate::{sidecar, signals};

/// Run the broker and the outbox connector together
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion run --postgres postgresql://shop:secret@localhost/shop --auto-init
  pillion run --config pillion.toml --data-dir /var/lib/pillion --listen 0.0.0.0:9092
  pillion run --postgres URL --listener DOCKER://0.0.0.0:9094=pillion:9094

The first line on standard output is the address the broker is bound to, printed once it
answers. Ctrl-C and SIGTERM stop the connector, then the broker. What the connector needs in
the database: `pillion outbox init --help`. Listeners: `pillion broker --help`.")]
pub(super) struct Arguments {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    connector: ConnectorFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let read = move || {
            self.configuration.read(Parts { broker: true, connector: true }, |layers| {
                self.broker.add_to(layers);
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
