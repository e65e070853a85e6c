//! One planned load of any kind.

use anyhow::Result;

use crate::figures::Figures;
use crate::load::Target;
use crate::load::commits::CommitsLoad;
use crate::load::connections::ConnectionsLoad;
use crate::load::fetch::FetchLoad;
use crate::load::group::rebalance::GroupRebalanceLoad;
use crate::load::group::size::GroupSizeLoad;
use crate::load::group::start::GroupStartLoad;
use crate::load::partitions::PartitionsLoad;
use crate::load::produce::ProduceLoad;
use crate::load::roundtrip::RoundtripLoad;
use crate::load::transactions::TransactionsLoad;

/// One load; its target is set when it runs.
#[derive(Debug, Clone)]
pub(super) enum Load {
    Produce(ProduceLoad),
    Fetch(FetchLoad),
    Roundtrip(RoundtripLoad),
    Connections(ConnectionsLoad),
    Partitions(PartitionsLoad),
    Commits(CommitsLoad),
    Transactions(TransactionsLoad),
    GroupStart(GroupStartLoad),
    GroupRebalance(GroupRebalanceLoad),
    GroupSize(GroupSizeLoad),
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) load: Load,
    /// The topic is not needed any more.
    pub(super) delete_topic: Option<String>,
}

impl Planned {
    /// The topic of another load that this one reads.
    pub(super) fn reads(&self) -> Option<String> {
        if let Load::Fetch(load) = &self.load { Some(load.topic.clone()) } else { None }
    }

    /// The topic that this load leaves for others to read.
    pub(super) fn writes(&self) -> Option<&String> {
        if let Load::Produce(load) = &self.load { Some(&load.topic) } else { None }
    }
}

impl Load {
    /// Runs it against this broker.
    pub(super) fn run(&self, target: Target) -> Result<Figures> {
        match self.clone() {
            Self::Produce(load) => ProduceLoad { target, ..load }.run(),
            Self::Fetch(load) => FetchLoad { target, ..load }.run(),
            Self::Roundtrip(load) => RoundtripLoad { target, ..load }.run(),
            Self::Connections(load) => ConnectionsLoad { target, ..load }.run(),
            Self::Partitions(load) => PartitionsLoad { target, ..load }.run(),
            Self::Commits(load) => CommitsLoad { target, ..load }.run(),
            Self::Transactions(load) => TransactionsLoad { target, ..load }.run(),
            Self::GroupStart(load) => GroupStartLoad { target, ..load }.run(),
            Self::GroupRebalance(load) => GroupRebalanceLoad { target, ..load }.run(),
            Self::GroupSize(load) => GroupSizeLoad { target, ..load }.run(),
        }
    }
}

/// Stands for the target that is known when a load runs.
pub(super) fn target() -> Target {
    Target { bootstrap: String::new(), server_pid: None }
}
