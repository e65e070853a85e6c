use std::sync::Arc;

use allocation_counter::measure;

use super::State;
use crate::groups::action::{Action, Answer};
use crate::groups::limits::GroupLimits;
use crate::groups::shard::GroupShard;

#[test]
fn what_it_took_to_remember_many_who_waited_is_given_back_once_they_are_answered() {
    let mut state: State<GroupShard> = State::new(Arc::new(GroupLimits::default()));
    let waiters: Vec<_> = (0..10_000).map(|_| state.keep(Box::new(|_| {}))).collect();
    let answers = waiters.into_iter().map(|waiter| Action::Answer(waiter, Answer::Leave(Vec::new()))).collect();
    assert_eq!(state.take_in(answers).answers.len(), 10_000);
    let freed = measure(|| drop(state));
    assert!(freed.bytes_current > -16 * 1024, "{} bytes were kept", -freed.bytes_current);
}
