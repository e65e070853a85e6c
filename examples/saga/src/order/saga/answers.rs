//! What each answer of another service does to a saga. An answer that does not fit changes nothing.
//!
//! Answers of different services travel on different topics, so a choreographed saga may hear of an effect before its
//! cause: `StockReserved` before the `PaymentCompleted` that led to it. The effect then stands for both.

use super::{Moved, State, Step, StepState};
use crate::events::{
    MAIL_REFUSED, MAIL_SENT, ORDER_CANCELLED, ORDER_CONFIRMED, PAYMENT_COMPLETED, PAYMENT_DECLINED, PAYMENT_REFUNDED,
    STOCK_RELEASED, STOCK_RESERVED, STOCK_UNAVAILABLE, Style,
};
use crate::messaging::EventKind;

impl Moved {
    /// Notes an answer, and goes on where it allows.
    pub(super) fn answered(&mut self, kind: EventKind, reason: Option<&str>) {
        match self.saga.state {
            State::Started => self.answered_forward(kind, reason),
            State::Compensating => self.answered_backward(kind),
            State::Completed | State::Compensated | State::Aborted => (),
        }
    }

    fn answered_forward(&mut self, kind: EventKind, reason: Option<&str>) {
        match kind {
            PAYMENT_COMPLETED if self.is_awaited(Step::Payment) => {
                self.set(Step::Payment, StepState::Succeeded, "");
                self.ask(Step::Stock);
            }
            PAYMENT_DECLINED if self.is_awaited(Step::Payment) => {
                self.fail(Step::Payment, reason);
                self.end(State::Aborted, ORDER_CANCELLED);
            }
            STOCK_RESERVED if self.is_awaited(Step::Stock) => {
                self.imply(Step::Payment, StepState::Succeeded);
                self.set(Step::Stock, StepState::Succeeded, "");
                self.publish.push(ORDER_CONFIRMED);
                self.ask(Step::Mail);
            }
            STOCK_UNAVAILABLE if self.is_awaited(Step::Stock) => {
                self.imply(Step::Payment, StepState::Succeeded);
                self.fail(Step::Stock, reason);
                self.begin_to_compensate();
            }
            MAIL_SENT if self.is_awaited(Step::Mail) => {
                self.set(Step::Mail, StepState::Succeeded, "");
                self.saga.state = State::Completed;
                self.note(None, "");
            }
            MAIL_REFUSED if self.is_awaited(Step::Mail) => {
                self.fail(Step::Mail, reason);
                self.begin_to_compensate();
            }
            // Heard before what led to them.
            STOCK_RELEASED if self.is_choreographed() => {
                self.fail(Step::Mail, reason);
                self.begin_to_compensate();
                self.answered_backward(kind);
            }
            PAYMENT_REFUNDED if self.is_choreographed() => {
                let failed = if self.saga.step(Step::Mail) == StepState::Untouched { Step::Stock } else { Step::Mail };
                self.imply(Step::Payment, StepState::Succeeded);
                self.fail(failed, reason);
                self.begin_to_compensate();
                self.answered_backward(kind);
            }
            _ => (),
        }
    }

    fn answered_backward(&mut self, kind: EventKind) {
        match kind {
            // A reservation that was refused needs no release.
            STOCK_RELEASED | STOCK_UNAVAILABLE if self.saga.step(Step::Stock) == StepState::Undoing => {
                self.set(Step::Stock, StepState::Undone, "");
                self.undo_next();
            }
            // The refund follows upon the release, of which is not heard yet.
            PAYMENT_REFUNDED if self.is_choreographed() && self.saga.step(Step::Stock) == StepState::Undoing => {
                self.set(Step::Stock, StepState::Undone, "");
                self.set(Step::Payment, StepState::Undone, "");
                self.undo_next();
            }
            // A payment that was declined needs no refund.
            PAYMENT_REFUNDED | PAYMENT_DECLINED if self.saga.step(Step::Payment) == StepState::Undoing => {
                self.set(Step::Payment, StepState::Undone, "");
                self.undo_next();
            }
            _ => (),
        }
    }

    fn begin_to_compensate(&mut self) {
        self.saga.state = State::Compensating;
        self.note(None, "");
        self.undo_next();
    }

    fn fail(&mut self, step: Step, reason: Option<&str>) {
        let reason = reason.unwrap_or("no reason was given");
        self.saga.reason = Some(reason.to_owned());
        self.set(step, StepState::Failed, reason);
    }

    /// A step whose answer is still to come, but must have been this one.
    fn imply(&mut self, step: Step, state: StepState) {
        if self.saga.step(step) == StepState::Asked {
            self.set(step, state, "told by a later step");
        }
    }

    /// Its answer is due; in a choreographed saga it may come before that of the step before.
    fn is_awaited(&self, step: Step) -> bool {
        match self.saga.step(step) {
            StepState::Asked => true,
            StepState::Untouched => step == Step::Stock && self.is_choreographed(),
            _ => false,
        }
    }

    fn is_choreographed(&self) -> bool {
        self.saga.style == Style::Choreographed
    }
}
