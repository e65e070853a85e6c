//! A goal, and whether it is met: a bound on our figure, alone or as a multiple of another's in the same run.

use super::results::{Results, Side};
use crate::figures::number;

/// On which side of the bound is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The bound or more.
    AtLeast,
    /// The bound or less.
    AtMost,
}

impl Bound {
    /// The sign that stands in front of it.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::AtLeast => '≥',
            Self::AtMost => '≤',
        }
    }

    /// Whether the figure is on its good side.
    pub(crate) fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
        }
    }
}

/// What our figure is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    /// A number in the figure's own unit.
    Value(Bound, f64),
    /// A multiple of the same figure of Apache Kafka.
    OfKafka(Bound, f64),
    /// A multiple of the same figure of Apache Kafka under another load, by its name.
    OfKafkaLoad(Bound, f64, &'static str),
    /// A multiple of the same figure of the null broker.
    OfNull(Bound, f64),
    /// A multiple of a figure of the machine.
    OfLimit(Bound, f64, &'static str),
    /// None: the figure is shown beside Kafka's.
    Open,
}

/// Our figure beside the one it is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgement {
    /// Our figure.
    pub(super) ours: Option<f64>,
    /// The other side's.
    pub(super) other: Option<f64>,
    /// Ours by the other's.
    pub(super) ratio: Option<f64>,
    /// Whether the goal is met; `None` when there is none, or something was not measured.
    pub(super) is_met: Option<bool>,
}

impl Goal {
    /// Looks at the medians of one figure of one load.
    pub(super) fn judge(self, results: &Results, load: &str, figure: &str) -> Judgement {
        let other = match self {
            Self::OfNull(..) => results.median(Side::Null, load, figure),
            Self::OfKafkaLoad(_, _, load) => results.median(Side::Kafka, load, figure),
            Self::OfLimit(_, _, limit) => results.median(Side::Machine, "limits", limit),
            Self::Value(..) | Self::OfKafka(..) | Self::Open => results.median(Side::Kafka, load, figure),
        };
        self.judge_figures(results.median(Side::Pillion, load, figure), other)
    }

    fn judge_figures(self, ours: Option<f64>, other: Option<f64>) -> Judgement {
        let ratio = match (ours, other) {
            (Some(ours), Some(other)) if other > 0.0 => Some(ours / other),
            _ => None,
        };
        let is_met = match self {
            Self::Value(bound, value) => ours.map(|ours| bound.holds(ours, value)),
            Self::OfKafka(bound, factor)
            | Self::OfKafkaLoad(bound, factor, _)
            | Self::OfNull(bound, factor)
            | Self::OfLimit(bound, factor, _) => ratio.map(|ratio| bound.holds(ratio, factor)),
            Self::Open => None,
        };
        Judgement { ours, other, ratio, is_met }
    }

    /// The goal in words.
    pub(super) fn text(self, unit: &str) -> String {
        match self {
            Self::Value(bound, value) => format!("{} {} {unit}", bound.sign(), number(value)),
            Self::OfKafka(bound, factor) => format!("{} {}×", bound.sign(), number(factor)),
            Self::OfKafkaLoad(bound, factor, _) => format!("{} {}× written", bound.sign(), number(factor)),
            Self::OfNull(bound, factor) => format!("{} {}× null broker", bound.sign(), number(factor)),
            Self::OfLimit(bound, factor, _) => format!("{} {}× disk", bound.sign(), number(factor)),
            Self::Open => "–".to_owned(),
        }
    }

    /// Whose figure the other one is, where it is not Kafka's.
    pub(super) fn other_name(self) -> &'static str {
        match self {
            Self::OfNull(..) => "null broker: ",
            Self::OfLimit(..) => "disk: ",
            Self::OfKafkaLoad(..) => "written: ",
            Self::Value(..) | Self::OfKafka(..) | Self::Open => "",
        }
    }
}

#[cfg(test)]
mod tests;
