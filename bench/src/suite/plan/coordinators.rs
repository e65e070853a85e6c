//! The loads of the coordinators: commits, transactions, groups.

use super::load::{Load, target};
use super::{KIB, Plan, Scale};
use crate::load::commits::CommitsLoad;
use crate::load::group::rebalance::GroupRebalanceLoad;
use crate::load::group::size::GroupSizeLoad;
use crate::load::group::start::GroupStartLoad;
use crate::load::transactions::TransactionsLoad;
use crate::server::Durability;
use crate::suite::names::{
    GROUP_SIZE, GROUP_START, GROUP_START_DEFAULT, MANY_PRODUCERS, OLDER_TRANSACTIONS, commits, rebalance, transactions,
};

impl Plan {
    /// Commits and transactions, and the start of a group as the broker is by default.
    pub(super) fn coordinators(&mut self, durability: Durability, scale: &Scale) {
        self.add(commits(durability), Load::Commits(commits_load(scale)));
        for producers in [1, MANY_PRODUCERS] {
            let load = transactions_load(scale, &format!("transactions-{producers}"), producers);
            self.add(transactions(durability, producers), Load::Transactions(load));
        }
        if durability == Durability::Synced {
            let load = TransactionsLoad { older_protocol: true, ..transactions_load(scale, "transactions-older", 1) };
            self.add(OLDER_TRANSACTIONS, Load::Transactions(load));
            self.add(GROUP_START_DEFAULT, Load::GroupStart(group_start(scale.delayed_groups, 1)));
        }
    }

    /// Groups, once none waits for more members before it begins.
    pub(in crate::suite) fn of_groups(scale: &Scale) -> Self {
        let mut plan = Self { loads: Vec::new(), warm_up: Vec::new(), peak_resident_mb: 0.0 };
        plan.add(GROUP_START, Load::GroupStart(group_start(scale.groups, scale.groups)));
        for cooperative in [false, true] {
            let load = GroupRebalanceLoad {
                target: target(),
                group_prefix: "rebalance".to_owned(),
                heartbeat_ms: scale.heartbeat_ms,
                cooperative,
                count: scale.rebalances,
            };
            plan.add(rebalance(cooperative), Load::GroupRebalance(load));
        }
        let load = GroupSizeLoad {
            target: target(),
            group_prefix: "size".to_owned(),
            members: scale.group_members,
            heartbeat_ms: scale.heartbeat_ms,
            idle: scale.idle_seconds,
        };
        plan.add(GROUP_SIZE, Load::GroupSize(load));
        plan
    }
}

fn commits_load(scale: &Scale) -> CommitsLoad {
    CommitsLoad {
        target: target(),
        topic: "commits".to_owned(),
        create: true,
        group: "commits".to_owned(),
        count: u64::from(u32::MAX),
        seconds: scale.single_seconds,
        warmup: scale.warmup / 100,
    }
}

fn transactions_load(scale: &Scale, topic: &str, producers: usize) -> TransactionsLoad {
    TransactionsLoad {
        target: target(),
        topic: topic.to_owned(),
        create: true,
        partitions: if producers == 1 { 1 } else { 6 },
        producers,
        records: 1,
        record_size: KIB,
        older_protocol: false,
        count: u64::from(u32::MAX),
        seconds: scale.single_seconds,
        warmup: scale.warmup / 100,
    }
}

fn group_start(count: usize, warmup: usize) -> GroupStartLoad {
    GroupStartLoad { target: target(), group_prefix: "start".to_owned(), count, warmup }
}
