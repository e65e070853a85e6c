//! What a saga does next: its state, what has come and the time in; the new state, what to publish and what to write
//! down out. Pure: no database, no clock, no topic.
//!
//! ```text
//!           payment ── stock ── mail ──▶ COMPLETED
//! STARTED ─┤ declined └ unavailable ┐ └ refused ┐
//!           ▼           COMPENSATING ◀───────────┘   in reverse order: release the stock, refund the payment
//!        ABORTED             ▼
//!                       COMPENSATED
//! ```
//! Both styles are one machine. A *choreographed* saga asks nobody, for the services react to each other's events: the
//! machine only notes what it hears, and says its own part again when it hears nothing. An *orchestrated* one asks for
//! each step by a command.
//!
//! Invariants: a saga in a final state never changes; whatever is late, repeated or out of order changes nothing or
//! leads to the state it would have led to in order; a step is undone only after all later steps are undone or failed.

mod answers;
mod steps;

use crate::events::{
    CHARGE_PAYMENT, ORDER_CANCELLED, ORDER_CONFIRMED, ORDER_PLACED, REFUND_PAYMENT, RELEASE_STOCK, RESERVE_STOCK,
    SEND_MAIL, Style,
};
use crate::messaging::EventKind;

pub use steps::{State, Step, StepState};

/// Milliseconds since 1970.
pub type Millis = i64;

/// When a saga is given a push, and when it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long an answer is waited for at first; doubled with each attempt.
    pub step_ms: Millis,
    /// The longest wait between two attempts.
    pub step_ms_max: Millis,
    /// Attempts in vain after which a person must look at it.
    pub attempts_max: u32,
    /// From the beginning of an orchestrated saga until it is given up and compensated, unless only the mail is left.
    pub deadline_ms: Millis,
}

/// One order's saga.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saga {
    /// Who leads it.
    pub style: Style,
    /// As a whole.
    pub state: State,
    /// Each step's, in the order of [`Step::ALL`].
    pub steps: [StepState; 3],
    /// Nothing is tried any more until a person says so.
    pub is_parked: bool,
    /// How often was asked again since the last progress.
    pub attempts: u32,
    /// When to ask again.
    pub due: Millis,
    /// When to give up.
    pub deadline: Millis,
    /// Why it cannot succeed.
    pub reason: Option<String>,
}

/// What can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// An event of another service.
    Answer(EventKind, Option<&'a str>),
    /// Time has passed.
    Tick,
    /// A person, or reconciliation: try on.
    Resume,
    /// A person, or reconciliation: undo what was done.
    Compensate,
}

/// A line of the saga's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Of the saga, after it.
    pub state: State,
    /// The step it is about and how that stands; `None` for the saga as a whole.
    pub step: Option<(Step, StepState)>,
    /// In words, such as the reason of a failure.
    pub detail: String,
}

/// What comes of an input: all of it is committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The new state.
    pub saga: Saga,
    /// Events and commands to publish, each with the order.
    pub publish: Vec<EventKind>,
    /// For the log.
    pub entries: Vec<Entry>,
}

impl Saga {
    /// The beginning.
    pub fn begin(style: Style, limits: &Limits, now: Millis) -> Moved {
        let saga = Saga {
            style,
            state: State::Started,
            steps: [StepState::Untouched; 3],
            is_parked: false,
            attempts: 0,
            due: now,
            deadline: now + limits.deadline_ms,
            reason: None,
        };
        let mut moved = Moved { saga, publish: vec![ORDER_PLACED], entries: Vec::new() };
        moved.note(None, "");
        moved.ask(Step::Payment);
        moved.progressed(limits, now);
        moved
    }

    /// What comes of `input`; `None` when nothing does, as of everything late or repeated.
    pub fn apply(&self, input: Input<'_>, limits: &Limits, now: Millis) -> Option<Moved> {
        if self.state.is_final() {
            return None;
        }
        let mut moved = Moved { saga: self.clone(), publish: Vec::new(), entries: Vec::new() };
        match input {
            Input::Answer(kind, reason) => {
                moved.answered(kind, reason);
                if moved.entries.is_empty() {
                    return None;
                }
                moved.progressed(limits, now);
            }
            Input::Tick if self.is_parked || now < self.due => return None,
            Input::Tick => moved.push(limits, now),
            Input::Resume => {
                moved.note(None, "told to try on");
                moved.progressed(limits, now);
                moved.ask_again();
            }
            Input::Compensate => {
                if !moved.compensate("told to compensate") {
                    return None;
                }
                moved.progressed(limits, now);
            }
        }
        Some(moved)
    }

    /// How a step stands.
    pub fn step(&self, step: Step) -> StepState {
        self.steps[step as usize]
    }
}

impl Moved {
    /// Time to ask again, to give up, or to leave it to a person.
    fn push(&mut self, limits: &Limits, now: Millis) {
        let can_give_up = self.saga.state == State::Started && self.saga.step(Step::Mail) == StepState::Untouched;
        if self.saga.style == Style::Orchestrated && can_give_up && now >= self.saga.deadline {
            self.compensate("not done in time");
            self.progressed(limits, now);
        } else if self.saga.attempts >= limits.attempts_max {
            self.saga.is_parked = true;
            self.note(None, &format!("parked for a person after {} attempts without an answer", self.saga.attempts));
        } else {
            self.saga.attempts += 1;
            // Bounded, for a shift by more than the type has bits is none.
            let wait = limits.step_ms.saturating_mul(1 << self.saga.attempts.min(20)).min(limits.step_ms_max);
            self.saga.due = now + wait;
            self.note(None, &format!("no answer, asked again (attempt {})", self.saga.attempts));
            self.ask_again();
        }
    }

    /// Undoes what was done, whatever the style: from here on the order service leads. `false` when it is too late.
    fn compensate(&mut self, why: &str) -> bool {
        if self.saga.step(Step::Mail) == StepState::Succeeded {
            return false;
        }
        if self.saga.style == Style::Choreographed && self.saga.step(Step::Stock) == StepState::Untouched {
            // The others may have gone further than is heard of yet.
            self.saga.steps[Step::Stock as usize] = StepState::Asked;
        }
        self.saga.style = Style::Orchestrated;
        self.saga.state = State::Compensating;
        self.saga.reason.get_or_insert_with(|| why.to_owned());
        self.note(None, why);
        // What is being undone in the other style is asked for now.
        for step in Step::ALL {
            if self.saga.step(step) == StepState::Undoing {
                self.saga.steps[step as usize] = StepState::Succeeded;
            }
        }
        self.undo_next();
        true
    }

    /// Asks for a step, or waits for it where others lead.
    fn ask(&mut self, step: Step) {
        self.set(step, StepState::Asked, "");
        if self.saga.style == Style::Orchestrated {
            self.publish.push(asks_for(step));
        }
    }

    /// Undoes the last step that may have had an effect: one without an answer may have had one, too. The end, when
    /// there is none left.
    fn undo_next(&mut self) {
        let to_undo = |step: &Step| {
            step.can_be_undone() && matches!(self.saga.step(*step), StepState::Asked | StepState::Succeeded)
        };
        let Some(step) = Step::ALL.into_iter().rev().find(to_undo) else {
            self.end(State::Compensated, ORDER_CANCELLED);
            return;
        };
        self.set(step, StepState::Undoing, "");
        if self.saga.style == Style::Orchestrated {
            self.publish.extend(undoes(step));
        }
    }

    /// The same again. Everybody answers a repeated question as the first time.
    fn ask_again(&mut self) {
        if self.saga.style == Style::Choreographed {
            // The whole chain repeats its answers from here on; only what is missing has an effect.
            let asked_for_mail = self.saga.step(Step::Mail) != StepState::Untouched;
            self.publish.push(if asked_for_mail { ORDER_CONFIRMED } else { ORDER_PLACED });
            return;
        }
        for step in Step::ALL {
            match self.saga.step(step) {
                StepState::Asked if self.saga.state == State::Started => self.publish.push(asks_for(step)),
                StepState::Undoing => self.publish.extend(undoes(step)),
                _ => (),
            }
        }
    }

    fn end(&mut self, state: State, kind: EventKind) {
        self.saga.state = state;
        self.publish.push(kind);
        self.note(None, "");
    }

    fn set(&mut self, step: Step, state: StepState, detail: &str) {
        self.saga.steps[step as usize] = state;
        self.note(Some((step, state)), detail);
    }

    fn note(&mut self, step: Option<(Step, StepState)>, detail: &str) {
        self.entries.push(Entry { state: self.saga.state, step, detail: detail.to_owned() });
    }

    /// An answer has come: the wait begins anew, and a person is no longer needed.
    fn progressed(&mut self, limits: &Limits, now: Millis) {
        self.saga.is_parked = false;
        self.saga.attempts = 0;
        self.saga.due = now + limits.step_ms;
    }
}

fn asks_for(step: Step) -> EventKind {
    match step {
        Step::Payment => CHARGE_PAYMENT,
        Step::Stock => RESERVE_STOCK,
        Step::Mail => SEND_MAIL,
    }
}

/// A mail cannot be unsent.
fn undoes(step: Step) -> Option<EventKind> {
    match step {
        Step::Payment => Some(REFUND_PAYMENT),
        Step::Stock => Some(RELEASE_STOCK),
        Step::Mail => None,
    }
}

#[cfg(test)]
mod tests;
