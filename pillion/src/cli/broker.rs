//! `pillion broker`: the broker alone.

use anyhow::Result;
use clap::Args;

use super::flags::{BrokerFlags, ConfigurationFlags};
use super::process::{self, Kind};
use crate::config::Parts;
use crate::{sidecar, signals};

/// Run the broker alone
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion broker                          on 127.0.0.1:9092, data in ./pillion-data
  pillion broker --data-dir /var/lib/pillion --listen 127.0.0.1:0
  pillion broker --set num.partitions=3 --set log.durability=async
  pillion broker --listen 127.0.0.1:9092 --listener DOCKER://0.0.0.0:9094=pillion:9094

The first line on standard output is the bound address, printed once the broker answers.
Each listener tells its clients its own advertised address. A listener bound to every address
(0.0.0.0, ::) never advertises that: without =ADVERTISED it advertises this machine's host
name if that resolves here, else 127.0.0.1, and warns.")]
pub(super) struct Arguments {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let read = move || {
            self.configuration.read(Parts { broker: true, connector: false }, |layers| {
                self.broker.add_to(layers);
            })
        };
        let configuration = read()?;
        let level = configuration.log_level.clone();
        process::run_at(Kind::Service, level.as_deref(), async {
            sidecar::run(configuration, Box::new(read), signals::stop_on_signal()?).await
        })
    }
}
