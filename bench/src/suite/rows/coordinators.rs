//! The goals of the coordinators: commits, transactions, groups.

use super::{AtLeast, AtMost, CPU_EACH, Goal, Rows, Scale, Synced, Written};
use crate::suite::names::{
    GROUP_SIZE, GROUP_START, GROUP_START_DEFAULT, MANY_PRODUCERS, OLDER_TRANSACTIONS, commits, rebalance, transactions,
};

const COMMITS: (&str, &str) = ("commits_per_s", "commits/s");
const COMMIT_P50: (&str, &str) = ("commit_p50_us", "µs p50");
const COMMIT_P99: (&str, &str) = ("commit_p99_us", "µs p99");
const TRANSACTIONS: (&str, &str) = ("transactions_per_s", "transactions/s");
const TRANSACTION_P50: (&str, &str) = ("transaction_p50_us", "µs p50");
const TRANSACTION_P99: (&str, &str) = ("transaction_p99_us", "µs p99");
const START_P50: (&str, &str) = ("start_p50_ms", "ms p50");
const START_MAX: (&str, &str) = ("start_max_ms", "ms at worst");
const SETTLED_MAX: (&str, &str) = ("settled_max_ms", "ms at worst");

impl Rows {
    /// Commits and transactions.
    pub(super) fn commits_and_transactions(&mut self) {
        for (durability, goal) in [(Synced, Goal::OfKafka(AtMost, 0.5)), (Written, Goal::Open)] {
            let load = commits(durability);
            self.add(load, load, COMMIT_P50, goal);
            for figure in [COMMIT_P99, COMMITS, CPU_EACH] {
                self.add(load, load, figure, Goal::Open);
            }
        }
        let (one, many) = (transactions(Synced, 1), transactions(Synced, MANY_PRODUCERS));
        self.add(one, one, TRANSACTIONS, Goal::OfKafka(AtLeast, 3.0));
        self.add(one, one, TRANSACTIONS, Goal::OfKafkaLoad(AtLeast, 1.0, transactions(Written, 1)));
        self.transaction_times(one);
        self.add(many, many, TRANSACTIONS, Goal::OfKafka(AtLeast, 5.0));
        self.transaction_times(many);
        for load in [OLDER_TRANSACTIONS, transactions(Written, 1), transactions(Written, MANY_PRODUCERS)] {
            self.add(load, load, TRANSACTIONS, Goal::Open);
            self.transaction_times(load);
        }
    }

    fn transaction_times(&mut self, load: &str) {
        for figure in [TRANSACTION_P50, TRANSACTION_P99, CPU_EACH] {
            self.add(load, load, figure, Goal::Open);
        }
    }

    /// Groups: from their first member to their thousandth.
    pub(super) fn groups(&mut self, scale: &Scale) {
        for load in [GROUP_START_DEFAULT, GROUP_START] {
            for figure in [START_P50, START_MAX] {
                self.add(load, load, figure, Goal::Value(AtMost, 20.0));
            }
        }
        let heartbeat_ms = scale.heartbeat_ms as f64;
        for (cooperative, heartbeats) in [(false, 1.0), (true, 2.0)] {
            let load = rebalance(cooperative);
            let work = format!("{load}, a heartbeat each {} ms", scale.heartbeat_ms);
            self.add(&work, load, SETTLED_MAX, Goal::Value(AtMost, heartbeats * heartbeat_ms + 100.0));
        }
        let size = |what: &str| format!("{} members of one group{what}", scale.group_members);
        let settle = Goal::Value(AtMost, 2.0 * heartbeat_ms / 1e3 + 2.0);
        self.add(&size(" join at once"), GROUP_SIZE, ("settle_s", "s"), settle);
        self.add(&size(" join at once"), GROUP_SIZE, ("settle_cpu_s", "CPU s"), Goal::Open);
        self.add(&size(", resident peak"), GROUP_SIZE, ("peak_resident_mb", "MB"), Goal::Value(AtMost, 32.0));
        self.add(&size(", beyond connections"), GROUP_SIZE, ("kb_each", "KB each"), Goal::Value(AtMost, 2.0));
        self.add(&size(", a heartbeat"), GROUP_SIZE, ("heartbeat_cpu_us", "CPU µs each"), Goal::Open);
        let silent = Goal::Value(AtMost, 1.0);
        self.add(&size(", silent, in 10 s"), GROUP_SIZE, ("silent_cpu_ms_in_10_s", "CPU ms"), silent);
    }
}
