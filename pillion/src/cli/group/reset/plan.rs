//! What a reset comes to for one partition. Pure.

use std::str::FromStr;

use crate::cli::text::milliseconds;

/// Where a group is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The log start offset.
    Start,
    /// The high watermark.
    End,
    /// Where it is: for writing down what there is.
    Current,
    /// This offset.
    At(i64),
    /// The first record of this time or later, in milliseconds since 1970.
    Time(i64),
    /// So many offsets on from where it is, or back.
    Shift(i64),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "start" | "earliest" => Ok(Self::Start),
            "end" | "latest" => Ok(Self::End),
            "current" => Ok(Self::Current),
            _ => match text.parse::<i64>() {
                Ok(offset) if offset >= 0 => Ok(Self::At(offset)),
                Ok(_) => Err("an offset is 0 or more; --shift-by goes back".to_owned()),
                Err(_) => milliseconds(text).map(Self::Time).map_err(|_| {
                    "expected start, end, current, an offset, or a time such as 2026-01-31T12:00:00Z".to_owned()
                }),
            },
        }
    }
}

/// A partition's log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log {
    pub(super) partition: i32,
    pub(super) start: i64,
    pub(super) end: i64,
    /// The offset that a time stands for; `None` when no record is so young.
    pub(super) at_time: Option<i64>,
}

/// What will be committed of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) topic: String,
    pub(super) partition: i32,
    /// What is committed now.
    pub(super) current: Option<i64>,
    /// What will be.
    pub(super) offset: i64,
    /// Why it is not what was asked for.
    pub(super) note: Option<&'static str>,
}

/// `None` where there is nothing to go by: nothing is committed, and the target is relative to it.
pub(super) fn planned(topic: &str, log: &Log, current: Option<i64>, target: &Target) -> Option<Planned> {
    let wanted = match *target {
        Target::Start => log.start,
        Target::End => log.end,
        Target::Current => current?,
        Target::At(offset) => offset,
        Target::Time(_) => log.at_time.unwrap_or(log.end),
        Target::Shift(by) => current?.saturating_add(by),
    };
    let offset = wanted.clamp(log.start, log.end.max(log.start));
    let note = match (target, wanted.cmp(&offset)) {
        (_, std::cmp::Ordering::Less) => Some("the log starts here"),
        (_, std::cmp::Ordering::Greater) => Some("the log ends here"),
        (Target::Time(_), _) if log.at_time.is_none() => Some("no record is so young"),
        _ => None,
    };
    Some(Planned { topic: topic.to_owned(), partition: log.partition, current, offset, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(current: Option<i64>, target: Target) -> Option<(i64, Option<&'static str>)> {
        let log = Log { partition: 0, start: 10, end: 20, at_time: Some(15) };
        planned("t", &log, current, &target).map(|planned| (planned.offset, planned.note))
    }

    #[test]
    fn every_target_comes_to_an_offset_within_the_log() {
        assert_eq!(offset(None, Target::Start), Some((10, None)));
        assert_eq!(offset(None, Target::End), Some((20, None)));
        assert_eq!(offset(None, Target::At(20)), Some((20, None)));
        assert_eq!(offset(None, Target::At(9)), Some((10, Some("the log starts here"))));
        assert_eq!(offset(None, Target::At(21)), Some((20, Some("the log ends here"))));
        assert_eq!(offset(Some(12), Target::Shift(3)), Some((15, None)));
        assert_eq!(offset(Some(12), Target::Shift(i64::MIN)), Some((10, Some("the log starts here"))));
        assert_eq!(offset(Some(12), Target::Current), Some((12, None)));
        assert_eq!(offset(None, Target::Time(0)), Some((15, None)));
    }

    #[test]
    fn a_partition_of_which_nothing_is_committed_is_not_shifted() {
        assert_eq!(offset(None, Target::Shift(1)), None);
        assert_eq!(offset(None, Target::Current), None);
    }

    #[test]
    fn a_time_after_the_last_record_is_the_end() {
        let log = Log { partition: 0, start: 0, end: 3, at_time: None };
        let planned = planned("t", &log, None, &Target::Time(1)).unwrap();
        assert_eq!((planned.offset, planned.note), (3, Some("no record is so young")));
    }

    #[test]
    fn targets_are_read_as_people_write_them() {
        for (text, target) in [
            ("start", Target::Start),
            ("latest", Target::End),
            ("7", Target::At(7)),
            ("1970-01-01T00:00:01Z", Target::Time(1_000)),
            ("@5", Target::Time(5)),
        ] {
            assert_eq!(text.parse(), Ok(target));
        }
        assert!("-5".parse::<Target>().is_err() && "soon".parse::<Target>().is_err());
    }
}
