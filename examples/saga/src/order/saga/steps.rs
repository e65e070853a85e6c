//! The names of a saga's steps and states.

/// The steps, in the order they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Step {
    /// Charge the customer; undone by a refund.
    Payment,
    /// Take the goods from the stock; undone by a release.
    Stock,
    /// Write to the customer; cannot be undone, so it is the last one.
    Mail,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// Its turn has not come.
    Untouched,
    /// Waited for.
    Asked,
    /// Done.
    Succeeded,
    /// Not done, and will not be.
    Failed,
    /// Its compensation is waited for.
    Undoing,
    /// Done, and undone; or made sure that it will never be done.
    Undone,
}

/// How a saga stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Steps are being done.
    Started,
    /// Steps are being undone.
    Compensating,
    /// Final: every step is done.
    Completed,
    /// Final: every step that was done is undone.
    Compensated,
    /// Final: the first step failed, there was nothing to undo.
    Aborted,
}

impl Step {
    /// In the order they are done.
    pub const ALL: [Step; 3] = [Step::Payment, Step::Stock, Step::Mail];

    /// As in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Step::Payment => "payment",
            Step::Stock => "stock",
            Step::Mail => "mail",
        }
    }

    pub(super) fn can_be_undone(self) -> bool {
        self != Step::Mail
    }
}

impl StepState {
    const ALL: [StepState; 6] = [
        StepState::Untouched,
        StepState::Asked,
        StepState::Succeeded,
        StepState::Failed,
        StepState::Undoing,
        StepState::Undone,
    ];

    /// As in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            StepState::Untouched => "UNTOUCHED",
            StepState::Asked => "ASKED",
            StepState::Succeeded => "SUCCEEDED",
            StepState::Failed => "FAILED",
            StepState::Undoing => "UNDOING",
            StepState::Undone => "UNDONE",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<StepState> {
        StepState::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl State {
    /// All.
    pub const ALL: [State; 5] =
        [State::Started, State::Compensating, State::Completed, State::Compensated, State::Aborted];

    /// As in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            State::Started => "STARTED",
            State::Compensating => "COMPENSATING",
            State::Completed => "COMPLETED",
            State::Compensated => "COMPENSATED",
            State::Aborted => "ABORTED",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing can come after it.
    pub fn is_final(self) -> bool {
        matches!(self, State::Completed | State::Compensated | State::Aborted)
    }
}
