//! Kafka's settings that people tune at run time, of things that are not here: threads, throttles of replication.
//!
//! They are checked, kept and told, so that scripts keep working, and have no effect. None of them guards anything: what
//! would promise safety is refused instead.

use super::{Setting, TakesEffect};
use crate::topic_config::ConfigKind;

/// A setting with the default that Kafka has; empty for none.
macro_rules! kept {
    ($kind:ident $key:literal = $default:literal, $accepts:expr, $expected:literal, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: $expected,
            documentation: $documentation,
            takes_effect: TakesEffect::Never,
            apply: |_, value| value.trim().parse().ok().filter($accepts).map(|_| ()),
            show: |_| $default.to_owned(),
        }
    };
}

const THREADS: fn(&i32) -> bool = |number| *number >= 1;
const BYTES: fn(&i64) -> bool = |number| *number >= 0;

/// The rows, in the order of their names.
pub(super) const KEPT: &[Setting] = &[
    kept!(Int "background.threads" = "10", THREADS, "a number of at least 1", "threads come as they are needed; kept only"),
    kept!(
        Long "follower.replication.throttled.rate" = "", BYTES, "a number of at least 0",
        "for replication, of which there is none; kept only"
    ),
    kept!(
        Long "leader.replication.throttled.rate" = "", BYTES, "a number of at least 0",
        "for replication, of which there is none; kept only"
    ),
    kept!(
        Double "log.cleaner.io.buffer.load.factor" = "0.9", |share: &f64| (0.0..=1.0).contains(share),
        "a number from 0 to 1", "for Kafka's compaction; kept only"
    ),
    kept!(
        Int "log.cleaner.io.buffer.size" = "524288", |bytes: &i32| *bytes >= 0, "a number of at least 0",
        "for Kafka's compaction; kept only"
    ),
    kept!(Int "log.cleaner.threads" = "1", |number: &i32| *number >= 0, "a number of at least 0", "one thread compacts; kept only"),
    kept!(Int "num.io.threads" = "8", THREADS, "a number of at least 1", "threads come as they are needed; kept only"),
    kept!(Int "num.network.threads" = "3", THREADS, "a number of at least 1", "threads come as they are needed; kept only"),
    kept!(Int "num.replica.fetchers" = "1", THREADS, "a number of at least 1", "for replication, of which there is none; kept only"),
    kept!(
        Long "replica.alter.log.dirs.io.max.bytes.per.second" = "", BYTES, "a number of at least 0",
        "there is one log directory; kept only"
    ),
    kept!(
        Long "sasl.kerberos.min.time.before.relogin" = "60000", |_: &i64| true, "a whole number",
        "for Kerberos, which is not spoken; kept only"
    ),
];
