//! What can be made to go wrong in the demo, for learning: which services are told what, and what it is about.

use clap::ValueEnum;

/// A thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// The bank says no: the first step fails, there is nothing to undo.
    PaymentDeclined,
    /// The item is gone when the order is paid: the payment is given back.
    OutOfStock,
    /// The order service's database stands still for a while.
    DbPaused,
    /// The bank takes longer than anybody waits: it is asked again, and charges once.
    SlowPayment,
    /// Every event comes a second time.
    DuplicateEvents,
    /// Records that no service can read.
    Poison,
}

/// A variable of a service: service, name, value.
pub(super) type Variable = (&'static str, &'static str, &'static str);

/// Variables of the services. The order service asks again what is not answered, which on a busy machine would look like
/// events that come twice: it has patience here, unless its impatience is to be seen.
pub(super) fn variables(fault: Option<Fault>) -> &'static [Variable] {
    match fault {
        // It asks again after one second, and the bank takes three.
        Some(Fault::SlowPayment) => &[("payment", "PAYMENT_DELAY_MS", "3000"), ("order", "SAGA_STEP_MS", "1000")],
        _ => &[("order", "SAGA_STEP_MS", "60000"), ("order", "SAGA_STEP_MS_MAX", "60000")],
    }
}

impl Fault {
    /// The service whose way to its database must be such that it can be closed.
    pub(super) fn detour(self) -> Option<&'static str> {
        (self == Fault::DbPaused).then_some("order")
    }

    /// What is to be seen, in a sentence or two.
    pub(super) fn about(self) -> &'static str {
        match self {
            Fault::PaymentDeclined => {
                "The amount is above what the bank allows. The saga ends at its first step: nothing was done, so\n\
                 nothing is undone, and the order is cancelled with the reason."
            }
            Fault::OutOfStock => {
                "A unicorn is never in stock, which shows only after it is paid for. What was done is undone: the\n\
                 payment is given back. Once where the services react to each other, once where the order service leads."
            }
            Fault::DbPaused => {
                "The order service's database stands still. A request is answered with 500 within five seconds instead\n\
                 of hanging; its span is an error with the timeout as its exception. Then the database goes on."
            }
            Fault::SlowPayment => {
                "The bank takes 3 s, the order service asks again after 1 s. The question is heard twice, the customer\n\
                 is charged once: there is one payment an order, and asked again it answers as the first time."
            }
            Fault::DuplicateEvents => {
                "Every event is published a second time, with the same id: what happens when a consumer is killed\n\
                 before it commits its offsets. The inbox knows the ids; nothing happens twice."
            }
            Fault::Poison => {
                "A record that is no order, in each partition of outbox.event.order. It is tried three times and parked in\n\
                 the table `parked` for a person; the orders behind it go on."
            }
        }
    }
}
