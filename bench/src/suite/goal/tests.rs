use super::*;

fn is_met(goal: Goal, ours: Option<f64>, other: Option<f64>) -> Option<bool> {
    goal.judge_figures(ours, other).is_met
}

#[test]
fn a_ratio_is_ours_by_theirs_and_its_bound_is_inclusive() {
    let goal = Goal::OfKafka(Bound::AtLeast, 4.0);
    let judgement = goal.judge_figures(Some(400.0), Some(100.0));
    assert_eq!((judgement.ratio, judgement.is_met), (Some(4.0), Some(true)));
    assert_eq!(is_met(goal, Some(399.0), Some(100.0)), Some(false));
    assert_eq!(is_met(Goal::OfKafka(Bound::AtMost, 0.5), Some(50.0), Some(100.0)), Some(true));
    assert_eq!(is_met(Goal::OfKafka(Bound::AtMost, 0.5), Some(51.0), Some(100.0)), Some(false));
}

#[test]
fn a_number_is_judged_without_the_other_side() {
    assert_eq!(is_met(Goal::Value(Bound::AtMost, 0.9), Some(0.9), None), Some(true));
    assert_eq!(is_met(Goal::Value(Bound::AtMost, 0.9), Some(0.91), None), Some(false));
    assert_eq!(Goal::Value(Bound::AtMost, 0.9).judge_figures(Some(1.8), Some(3.6)).ratio, Some(0.5));
}

#[test]
fn what_was_not_measured_is_neither_met_nor_missed() {
    assert_eq!(is_met(Goal::OfKafka(Bound::AtLeast, 4.0), Some(400.0), None), None);
    assert_eq!(is_met(Goal::OfKafka(Bound::AtLeast, 4.0), None, Some(100.0)), None);
    assert_eq!(is_met(Goal::Value(Bound::AtMost, 1.0), None, None), None);
    assert_eq!(is_met(Goal::Open, Some(1.0), Some(1.0)), None);
    assert_eq!(is_met(Goal::OfNull(Bound::AtMost, 1.0), Some(1.0), Some(0.0)), None);
}

#[test]
fn goals_are_told_in_their_units() {
    assert_eq!(Goal::Value(Bound::AtMost, 0.9).text("CPU s/GB"), "≤ 0.9 CPU s/GB");
    assert_eq!(Goal::OfKafka(Bound::AtLeast, 4.0).text("records/s"), "≥ 4×");
}
