//! Answers of several shards to one request, until the last has come.

use parking_lot::Mutex;

/// Called once with all answers, in the order of what was asked.
type Finish<T> = Box<dyn FnOnce(Vec<T>) + Send>;

/// Gathers one answer for each position.
pub(super) struct Gathering<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    answers: Vec<Option<T>>,
    missing: usize,
    finish: Option<Finish<T>>,
}

impl<T> Gathering<T> {
    /// Waits for `count` answers and hands them to `finish`; of none, at once.
    pub(super) fn new(count: usize, finish: impl FnOnce(Vec<T>) + Send + 'static) -> Self {
        let answers = (0..count).map(|_| None).collect();
        let gathering = Self { state: Mutex::new(State { answers, missing: count, finish: Some(Box::new(finish)) }) };
        if count == 0 {
            gathering.finish();
        }
        gathering
    }

    /// The answer for a position, which is below the count and has none yet.
    pub(super) fn put(&self, position: usize, answer: T) {
        let is_complete = {
            let mut state = self.state.lock();
            state.answers[position] = Some(answer);
            state.missing -= 1;
            state.missing == 0
        };
        if is_complete {
            self.finish();
        }
    }

    fn finish(&self) {
        let (finish, answers) = {
            let mut state = self.state.lock();
            (state.finish.take(), std::mem::take(&mut state.answers))
        };
        if let Some(finish) = finish {
            finish(answers.into_iter().flatten().collect());
        }
    }
}
