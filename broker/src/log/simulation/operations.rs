//! What can be done to a log, drawn from a seed. Everything a step needs is in the operation, so that a printed list
//! of them tells the whole story.

use pillion_wire::records::Compression;
use rand::Rng;
use rand::rngs::StdRng;

use crate::log::LogConfig;

/// Producers with ids from 1 on; every other one is transactional.
pub(super) const PRODUCERS: i64 = 4;
/// Different keys.
pub(super) const KEYS: u8 = 6;

/// One step.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Append(Draft),
    /// Ends a producer's transaction, or tells of one that is not open.
    EndTransaction {
        producer_id: i64,
        commit: bool,
        /// Of the marker against the producer's: 1 as KIP-890 raises it, −1 for one that comes too late.
        epoch_ahead: i16,
        /// Of the coordinator against the last one's.
        coordinator_ahead: i32,
    },
    /// Takes what is dirty, as the sync job does.
    BeginSync,
    /// Syncs that, and takes note.
    FinishSync,
    Roll,
    SaveEpochs,
    PrepareCheckpoint,
    WriteCheckpointFiles,
    Configure(Change),
    PassTime {
        ms: i64,
    },
    Retain,
    /// Moves the log's start to so many thousandths of the way to the high watermark.
    DeleteRecords {
        thousandths: i64,
    },
    /// Compacts what is due, with room for so many bytes of keys, and does something else before the group of this
    /// number is put in its place.
    Compact {
        dedupe_buffer_bytes: usize,
        disturbed_at: usize,
        appends: bool,
    },
    /// Forgets producers that have been silent for so long.
    ExpireProducers {
        ms: i64,
    },
    /// Takes a view, or bytes, to look at them later.
    HoldView,
    Check,
    CloseAndReopen,
    /// The process ends; what it wrote stays in the page cache.
    Kill,
    /// The power goes at the n-th next operation of the disk.
    CutPower {
        after: u64,
    },
    /// The n-th next operation of the disk fails.
    FailOne {
        after: u64,
    },
    /// So many bytes fit on the disk.
    Fill {
        bytes: u64,
    },
    MakeRoom,
}

/// A batch to be appended.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// −1 for a producer that is not idempotent.
    pub(super) producer_id: i64,
    pub(super) sequence: Sequence,
    /// Keys (0: none) and lengths of values (0: a tombstone, where there is a key).
    pub(super) records: Vec<(u8, usize)>,
    pub(super) codec: Compression,
    /// Of the first record, against the clock; `None` for no timestamps.
    pub(super) ahead_ms: Option<i64>,
    /// Whether the topic has the append's time instead.
    pub(super) append_time: bool,
}

/// Where a batch stands in its producer's sequence.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sequence {
    Next,
    /// The batch so many back again.
    Retry(usize),
    Gap,
    NewEpoch,
    OldEpoch,
}

/// A change of settings.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    SegmentBytes(u64),
    SegmentMs(i64),
    SegmentIndexBytes(u32),
    IndexInterval(u32),
    GrowAhead(u64),
    Policy { delete: bool, compact: bool },
    RetentionMs(i64),
    RetentionBytes(i64),
    DeleteDelay(i64),
    DeleteRetention(i64),
    Lags { min: i64, max: i64 },
    DirtyRatio(f64),
}

impl Change {
    pub(super) fn draw(random: &mut StdRng) -> Self {
        match random.random_range(0..12) {
            0 => Self::SegmentBytes(pick(random, &[14, 400, 2_000, 8_000])),
            1 => Self::SegmentMs(pick(random, &[100, 2_000, 1 << 40])),
            2 => Self::SegmentIndexBytes(pick(random, &[24, 48, 10 << 20])),
            3 => Self::IndexInterval(pick(random, &[0, 100, 1_000, 4_096])),
            4 => Self::GrowAhead(pick(random, &[0, 512, 64 << 10])),
            5 | 6 => {
                let (delete, compact) = pick(random, &[(true, false), (false, true), (true, true)]);
                Self::Policy { delete, compact }
            }
            7 => Self::RetentionMs(pick(random, &[-1, 0, 500, 5_000])),
            8 => Self::RetentionBytes(pick(random, &[-1, -1, 0, 1_000, 4_000])),
            9 => Self::DeleteDelay(pick(random, &[0, 0, 1_000])),
            10 => Self::DeleteRetention(pick(random, &[0, 300, 3_000])),
            _ => match random.random_range(0..2) {
                0 => Self::Lags { min: pick(random, &[0, 300]), max: pick(random, &[400, i64::MAX]) },
                _ => Self::DirtyRatio(pick(random, &[0.0, 0.3, 0.9])),
            },
        }
    }

    pub(super) fn apply(self, config: &mut LogConfig) {
        match self {
            Self::SegmentBytes(bytes) => config.segment_bytes = bytes,
            Self::SegmentMs(ms) => config.segment_ms = ms,
            Self::SegmentIndexBytes(bytes) => config.segment_index_bytes = bytes,
            Self::IndexInterval(bytes) => config.index_interval_bytes = bytes,
            Self::GrowAhead(bytes) => config.grow_ahead_bytes = bytes,
            Self::Policy { delete, compact } => (config.delete, config.compact) = (delete, compact),
            Self::RetentionMs(ms) => config.retention_ms = ms,
            Self::RetentionBytes(bytes) => config.retention_bytes = bytes,
            Self::DeleteDelay(ms) => config.file_delete_delay_ms = ms,
            Self::DeleteRetention(ms) => config.delete_retention_ms = ms,
            Self::Lags { min, max } => (config.min_compaction_lag_ms, config.max_compaction_lag_ms) = (min, max),
            Self::DirtyRatio(ratio) => config.min_cleanable_dirty_ratio = ratio,
        }
    }
}

impl Operation {
    pub(super) fn draw(random: &mut StdRng) -> Self {
        match random.random_range(0..100) {
            0..38 => Self::Append(Draft::draw(random)),
            38..46 => Self::EndTransaction {
                producer_id: random.random_range(0..PRODUCERS / 2) * 2 + 2,
                commit: random.random(),
                epoch_ahead: pick(random, &[0, 0, 0, 1, 1, 1, 1, -1]),
                coordinator_ahead: pick(random, &[0, 0, 0, 0, 0, 0, 1, -1]),
            },
            46..52 => Self::BeginSync,
            52..60 => Self::FinishSync,
            60..62 => Self::Roll,
            62..64 => Self::SaveEpochs,
            64..67 => Self::PrepareCheckpoint,
            67..71 => Self::WriteCheckpointFiles,
            71..74 => Self::Configure(Change::draw(random)),
            74..77 => Self::PassTime { ms: pick(random, &[1, 100, 1_000, 10_000]) },
            77..79 => Self::Retain,
            79..81 => Self::DeleteRecords { thousandths: pick(random, &[100, 500, 1_000]) },
            81..87 => Self::Compact {
                dedupe_buffer_bytes: pick(random, &[48, 1 << 20, 1 << 20]),
                disturbed_at: random.random_range(0..6),
                appends: random.random(),
            },
            87 => Self::ExpireProducers { ms: pick(random, &[0, 300, 3_000]) },
            88..90 => Self::HoldView,
            90 => Self::Check,
            91 => Self::CloseAndReopen,
            92 => Self::Kill,
            93..97 => Self::CutPower { after: skewed(random, 60) },
            97 => Self::FailOne { after: skewed(random, 40) },
            98 => Self::Fill { bytes: pick(random, &[0, 100, 1_000, 5_000]) },
            _ => Self::MakeRoom,
        }
    }
}

impl Draft {
    fn draw(random: &mut StdRng) -> Self {
        let producer_id = if random.random_ratio(2, 5) { -1 } else { random.random_range(1..=PRODUCERS) };
        let sequence = match random.random_range(0..20) {
            0..3 => Sequence::Retry(random.random_range(0..6)),
            3 => Sequence::Gap,
            4 => Sequence::NewEpoch,
            5 => Sequence::OldEpoch,
            _ => Sequence::Next,
        };
        let largest = pick(random, &[20, 20, 200, 900, 3_000]);
        let mut record = |_| {
            let key = if random.random_ratio(1, 8) { 0 } else { random.random_range(1..=KEYS) };
            let value = if random.random_ratio(1, 4) { 0 } else { random.random_range(1..=largest) };
            (key, value)
        };
        let count = record(0).1 % 4 + 1;
        let records = (0..count).map(&mut record).collect();
        let codec = pick(
            random,
            &[
                Compression::None,
                Compression::None,
                Compression::None,
                Compression::Gzip,
                Compression::Snappy,
                Compression::Lz4,
                Compression::Zstd,
            ],
        );
        let ahead_ms = pick(random, &[Some(0), Some(0), Some(50), Some(-200), Some(-5_000), Some(3_000), None]);
        Self { producer_id, sequence, records, codec, ahead_ms, append_time: random.random_ratio(1, 5) }
    }
}

/// One of these.
pub(super) fn pick<T: Copy>(random: &mut StdRng, from: &[T]) -> T {
    from[random.random_range(0..from.len())]
}

/// Up to `most`, small ones more often.
fn skewed(random: &mut StdRng, most: u64) -> u64 {
    let limit = random.random_range(1..=most);
    random.random_range(1..=limit)
}
