//! The saga against models of the other services, with messages that come late, twice and in any order.

use proptest::prelude::*;

use super::*;
use crate::events::{ORDER_CANCELLED, ORDER_CONFIRMED};

/// How payment or stock stand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Effect {
    None,
    Done,
    Refused,
    Undone,
}

/// The other services: what they would do, and what they have done.
struct World {
    refuses: [bool; 3],
    payment: Effect,
    stock: Effect,
    /// On their way, each with the style it was published under.
    messages: Vec<(EventKind, Style)>,
}

impl World {
    fn deliver(&mut self, kind: EventKind, style: Style) {
        let is_reacting = style == Style::Choreographed;
        let answer = match kind {
            CHARGE_PAYMENT => self.charge(),
            REFUND_PAYMENT => self.refund(),
            RESERVE_STOCK => self.reserve(),
            RELEASE_STOCK => self.release(),
            SEND_MAIL => self.mail(),
            ORDER_PLACED if is_reacting => self.charge(),
            STOCK_UNAVAILABLE | STOCK_RELEASED if is_reacting => self.refund(),
            PAYMENT_COMPLETED if is_reacting => self.reserve(),
            MAIL_REFUSED if is_reacting => self.release(),
            ORDER_CONFIRMED if is_reacting => self.mail(),
            _ => return,
        };
        self.messages.push((answer, style));
    }

    fn charge(&mut self) -> EventKind {
        if self.payment == Effect::None {
            self.payment = if self.refuses[0] { Effect::Refused } else { Effect::Done };
        }
        self.payment_answer()
    }

    fn refund(&mut self) -> EventKind {
        if self.payment != Effect::Refused {
            self.payment = Effect::Undone;
        }
        self.payment_answer()
    }

    fn payment_answer(&self) -> EventKind {
        match self.payment {
            Effect::Refused => PAYMENT_DECLINED,
            Effect::Undone => PAYMENT_REFUNDED,
            Effect::Done | Effect::None => PAYMENT_COMPLETED,
        }
    }

    fn reserve(&mut self) -> EventKind {
        if self.stock == Effect::None {
            self.stock = if self.refuses[1] { Effect::Refused } else { Effect::Done };
        }
        self.stock_answer()
    }

    fn release(&mut self) -> EventKind {
        if self.stock != Effect::Refused {
            self.stock = Effect::Undone;
        }
        self.stock_answer()
    }

    fn stock_answer(&self) -> EventKind {
        match self.stock {
            Effect::Refused => STOCK_UNAVAILABLE,
            Effect::Undone => STOCK_RELEASED,
            Effect::Done | Effect::None => STOCK_RESERVED,
        }
    }

    fn mail(&self) -> EventKind {
        if self.refuses[2] { MAIL_REFUSED } else { MAIL_SENT }
    }

    fn publish(&mut self, moved: &Moved) {
        self.messages.extend(moved.publish.iter().map(|kind| (*kind, moved.saga.style)));
    }
}

/// Plays one order to its end: `choices` say which message comes next, whether it comes again later, and when time
/// passes or a person gives up.
fn play(style: Style, refuses: [bool; 3], choices: &[(u8, bool, bool, bool)]) -> (Saga, World) {
    let mut world = World { refuses, payment: Effect::None, stock: Effect::None, messages: Vec::new() };
    let begun = Saga::begin(style, &LIMITS, 0);
    world.publish(&begun);
    let mut saga = begun.saga;
    let mut now = 0;
    // Beyond the choices everything comes in order, until the saga has ended and nothing is on its way.
    let calm = std::iter::repeat_n((0, false, true, false), 400);
    for (which, is_repeated, time_passes, gives_up) in choices.iter().copied().chain(calm) {
        now += 10;
        let mut inputs = Vec::new();
        if !world.messages.is_empty() {
            let index = usize::from(which) % world.messages.len();
            let (kind, said_in) = if is_repeated { world.messages[index] } else { world.messages.remove(index) };
            world.deliver(kind, said_in);
            inputs.push(Input::Answer(kind, Some("because")));
        }
        if time_passes {
            now = now.max(saga.due);
            inputs.push(if saga.is_parked { Input::Resume } else { Input::Tick });
        }
        if gives_up {
            inputs.push(Input::Compensate);
        }
        for input in inputs {
            if let Some(moved) = saga.apply(input, &LIMITS, now) {
                world.publish(&moved);
                saga = moved.saga;
            }
        }
    }
    (saga, world)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn money_and_stock_are_right_whatever_is_late_repeated_or_out_of_order(
        is_orchestrated: bool,
        refuses: [bool; 3],
        choices in prop::collection::vec((any::<u8>(), prop::bool::weighted(0.3), prop::bool::weighted(0.2), prop::bool::weighted(0.02)), 0..120),
    ) {
        let style = if is_orchestrated { Style::Orchestrated } else { Style::Choreographed };
        let (saga, world) = play(style, refuses, &choices);
        prop_assert!(saga.state.is_final(), "{saga:?}");
        prop_assert!(saga.state != State::Completed || refuses == [false; 3]);
        match saga.state {
            State::Completed => prop_assert_eq!((world.payment, world.stock), (Effect::Done, Effect::Done)),
            _ => {
                prop_assert!(world.payment != Effect::Done, "{saga:?}");
                prop_assert!(world.stock != Effect::Done, "{saga:?}");
            }
        }
    }

    #[test]
    fn without_anybody_giving_up_an_order_succeeds_exactly_if_nobody_refuses(
        is_orchestrated: bool,
        refuses: [bool; 3],
        choices in prop::collection::vec((any::<u8>(), any::<bool>()), 0..60),
    ) {
        let style = if is_orchestrated { Style::Orchestrated } else { Style::Choreographed };
        let choices: Vec<_> = choices.into_iter().map(|(which, again)| (which, again, false, false)).collect();
        let (saga, _) = play(style, refuses, &choices);
        prop_assert_eq!(saga.state == State::Completed, refuses == [false; 3], "{:?}", saga);
    }
}

#[test]
fn both_ends_are_announced_once() {
    for (refuses, expected) in [([false; 3], ORDER_CONFIRMED), ([true, false, false], ORDER_CANCELLED)] {
        let begun = Saga::begin(Style::Choreographed, &LIMITS, 0);
        let answers = if refuses[0] { vec![PAYMENT_DECLINED; 2] } else { vec![STOCK_RESERVED; 2] };
        let mut saga = begun.saga;
        let mut said = Vec::new();
        for answer in answers {
            if let Some(moved) = saga.apply(Input::Answer(answer, None), &LIMITS, 1) {
                said.extend(moved.publish);
                saga = moved.saga;
            }
        }
        assert_eq!(said, [expected]);
    }
}
