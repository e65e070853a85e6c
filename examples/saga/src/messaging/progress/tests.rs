use proptest::prelude::*;

use super::*;

#[test]
fn only_the_finished_prefix_is_committed() {
    let mut progress = Progress::default();
    let places: Vec<Place> = [4, 5, 9].map(|offset| progress.begin("t", 0, offset)).into();
    let other = progress.begin("t", 1, 7);
    assert_eq!(progress.finish(&places[1]), None);
    assert_eq!(progress.finish(&other), Some(8));
    assert_eq!(progress.finish(&places[0]), Some(6));
    assert_eq!(progress.finish(&places[2]), Some(10));
}

#[test]
fn what_was_begun_before_a_rebalance_counts_no_more() {
    let mut progress = Progress::default();
    let before = progress.begin("t", 0, 4);
    let again = progress.begin("t", 0, 4);
    assert_eq!(progress.finish(&before), None);
    assert_eq!(progress.finish(&again), Some(5));
    assert_eq!(progress.finish(&again), None, "twice is once");
}

proptest! {
    #[test]
    fn no_commit_passes_a_record_under_way(order in Just((0..40_i64).collect::<Vec<_>>()).prop_shuffle()) {
        let mut progress = Progress::default();
        let places: Vec<Place> = (0..40).map(|offset| progress.begin("t", 0, offset)).collect();
        let mut unfinished: std::collections::BTreeSet<i64> = (0..40).collect();
        let mut committed = 0;
        for offset in order {
            unfinished.remove(&offset);
            if let Some(next) = progress.finish(&places[usize::try_from(offset).unwrap()]) {
                prop_assert!(next > committed);
                committed = next;
            }
            prop_assert_eq!(committed, unfinished.first().copied().unwrap_or(40));
        }
    }
}
