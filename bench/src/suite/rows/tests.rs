use std::collections::BTreeSet;

use super::super::phase::Phase;
use super::super::plan::Plan;
use super::*;

#[test]
fn every_load_that_is_run_has_a_row_and_every_row_a_load() {
    for scale in [Scale::quick(), Scale::full()] {
        let shown: BTreeSet<String> = rows(&scale).into_iter().map(|row| row.load).collect();
        let mut run: BTreeSet<String> = Phase::ALL.iter().flat_map(|phase| Plan::of(*phase, &scale).names()).collect();
        assert!(Plan::of_null(&scale).names().iter().all(|name| run.contains(name)));
        run.extend([START, BINARY].map(str::to_owned));
        run.extend([Written, Synced].map(peak));
        run.extend(scale.many_partitions.map(|_| MANY_PARTITIONS.to_owned()));
        assert_eq!(shown, run);
    }
}

#[test]
fn a_fetch_alone_keeps_what_it_reads() {
    let mut plan = Plan::of(Phase::Written, &Scale::quick());
    let name = fetch(50, KIB);
    plan.retain(|load| load == name);
    assert_eq!(plan.names(), [produce(Written, 1, KIB), name]);
}
