//! Lines that repeat: of one place in the code only so many in so much time, then how many were left out.
//!
//! A client that connects and breaks off a thousand times a second must not fill the disk with the broker's log. Pure:
//! the time is an argument.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;

/// Lines of one place that are shown within [`WINDOW`].
const SHOWN_MAX: u32 = 30;
/// How long lines are counted together.
const WINDOW: Duration = Duration::from_secs(10);

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is written; before it so many of its kind were left out and not told of yet.
    Shown {
        /// Lines left out.
        left_out: u64,
    },
    /// It is left out.
    LeftOut,
}

/// What was written of each place. Places are the program's own, so there is an end to them.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    places: Mutex<HashMap<Identifier, Window>>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    shown: u32,
    left_out: u64,
}

impl Repeats {
    /// Judges the next line of a place.
    pub(super) fn judge(&self, place: Identifier, now: Instant) -> Verdict {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let window = places.entry(place).or_insert(Window { began: now, shown: 0, left_out: 0 });
        if now.saturating_duration_since(window.began) >= WINDOW {
            *window = Window { began: now, shown: 0, left_out: window.left_out };
        }
        if window.shown >= SHOWN_MAX {
            window.left_out += 1;
            return Verdict::LeftOut;
        }
        window.shown += 1;
        Verdict::Shown { left_out: std::mem::take(&mut window.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Identifier {
        struct Nowhere;
        impl tracing::callsite::Callsite for Nowhere {
            fn set_interest(&self, _: tracing::subscriber::Interest) {}
            fn metadata(&self) -> &tracing::Metadata<'_> {
                unreachable!("only its address counts")
            }
        }
        static NOWHERE: Nowhere = Nowhere;
        Identifier(&NOWHERE)
    }

    #[test]
    fn lines_beyond_the_limit_are_left_out_and_counted_in_the_next_window() {
        let (repeats, start) = (Repeats::default(), Instant::now());
        for _ in 0..SHOWN_MAX {
            assert_eq!(repeats.judge(place(), start), Verdict::Shown { left_out: 0 });
        }
        for _ in 0..7 {
            assert_eq!(repeats.judge(place(), start), Verdict::LeftOut);
        }
        assert_eq!(repeats.judge(place(), start + WINDOW), Verdict::Shown { left_out: 7 });
        assert_eq!(repeats.judge(place(), start + WINDOW), Verdict::Shown { left_out: 0 });
    }
}
