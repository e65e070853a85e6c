//! The end of some stories: a bit flips on the disk, in what was durable. From then on a reader gets what was appended, or
//! an error, or a batch whose checksum tells; nothing is passed over, and no start cuts anything away.

use std::path::PathBuf;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, HEADER_BYTES};
use rand::Rng;

use super::broker::{DIRECTORY, SimulatedBroker};
use super::operations::pick;
use super::reader::{Visible, bytes_of, read_all};
use super::run::Simulation;
use crate::disk::{Disk, Entry};
use crate::log::ReadFrom;
use crate::log::format::names::{self, Kind, Suffix};

/// The largest file that is looked at.
const FILE_BYTES_MAX: usize = 1 << 20;
/// A batch's base offset and leader epoch, which no checksum covers.
const UNCHECKED: [std::ops::Range<usize>; 2] = [0..8, 12..16];

impl Simulation {
    /// Flips a bit, and looks at everything, also after a start.
    pub(super) fn rot(&mut self) {
        self.held.clear();
        self.disk.cut_power_at(0);
        self.disk.fail_nth_operation(0);
        self.disk.set_capacity(u64::MAX);
        let (start, end) = (self.broker.log.log_start_offset(), self.broker.log.end());
        let before = read_all(&self.broker.log, start, end, &mut self.random);
        let Some((path, byte)) = self.place_to_rot(start) else { return };
        let bit = self.random.random_range(0..8);
        self.story.lock().push(format!("bit {bit} of byte {byte} of {} flips", path.display()));
        self.disk.flip_bit(&path, byte, bit).expect("flips");
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        self.check_rotten(&before, is_log);
        let is_clean = self.random.random() && self.broker.stop().is_ok();
        let rotten = self.disk.read_small(&path, FILE_BYTES_MAX).expect("reads");
        self.broker.pending = None;
        self.story.lock().push(format!("= started again, clean {is_clean}"));
        let (config, now_ms, epoch) = (self.broker.config, self.broker.now_ms, self.broker.leader_epoch);
        match SimulatedBroker::start(&self.disk, config, now_ms, epoch, (4, self.broker.is_async), |_| ()) {
            Ok(broker) => {
                self.broker = broker;
                assert_eq!(self.broker.log.next_offset(), end.offset, "where the log ends");
                self.check_rotten(&before, is_log);
            }
            Err(error) => {
                assert!(is_log, "an index is made again: {error} {:?}", std::error::Error::source(&error));
                let left = self.disk.read_small(&path, FILE_BYTES_MAX).expect("reads");
                assert!(left == rotten, "{} is left alone", path.display());
            }
        }
    }

    /// A byte below the recovery point that a checksum covers, or one of an index.
    fn place_to_rot(&mut self, start: i64) -> Option<(PathBuf, u64)> {
        let entries = self.disk.list(DIRECTORY.as_ref()).expect("lists");
        let of = |kind: Kind| {
            let is_one = move |entry: &&Entry| {
                let file = names::parse(&entry.name);
                file.is_some_and(|file| (file.kind, file.suffix) == (kind, Suffix::None))
            };
            entries.iter().filter(is_one).map(|entry| entry.path.clone()).collect::<Vec<_>>()
        };
        let mut places = Vec::new();
        if self.random.random_ratio(1, 4) {
            for path in of(Kind::OffsetIndex) {
                let length = self.disk.length_of(&path).expect("looks").unwrap_or(0);
                places.extend((0..length).map(|byte| (path.clone(), byte)));
            }
        } else {
            for path in of(Kind::Log) {
                let bytes = Bytes::from(self.disk.read_small(&path, FILE_BYTES_MAX).expect("reads").expect("is there"));
                let mut at = 0;
                while bytes.len() - at > HEADER_BYTES
                    && let Ok(header) = BatchHeader::parse(&bytes[at..])
                    && header.next_offset() <= self.broker.log.recovery_point_written
                {
                    let checked = (0..header.size()).filter(|byte| !UNCHECKED.iter().any(|not| not.contains(byte)));
                    let is_there = header.last_offset() >= start;
                    places.extend(checked.filter(|_| is_there).map(|byte| (path.clone(), (at + byte) as u64)));
                    at += header.size();
                }
            }
        }
        let place = (!places.is_empty()).then(|| self.random.random_range(0..places.len()))?;
        Some(places.swap_remove(place))
    }

    /// Every offset is answered as `before`, unless it is told that it cannot be.
    fn check_rotten(&mut self, before: &[Visible], is_log: bool) {
        let (start, end) = (self.broker.log.log_start_offset(), self.broker.log.end());
        // A start may begin before where it did.
        let start = before.first().map_or(end.offset, |first| first.header.base_offset).max(start);
        for offset in start..end.offset {
            let expected = before.iter().find(|batch| batch.header.last_offset() >= offset);
            let bytes_max = pick(&mut self.random, &[1, 5_000]);
            let slice = match self.broker.log.read(offset, end, bytes_max, ReadFrom::Disk) {
                Ok(slice) => slice,
                Err(error) => {
                    assert!(is_log, "cannot read at {offset}: {error}");
                    continue;
                }
            };
            let Some(slice) = slice else {
                assert!(expected.is_none(), "{:?} is passed over", expected.map(|batch| batch.header));
                continue;
            };
            let bytes = bytes_of(&slice);
            match BatchHeader::verify(&bytes) {
                Ok(header) => {
                    let expected = expected.expect("there is one");
                    assert_eq!(header, expected.header, "what is answered at {offset}");
                    assert_eq!(bytes[..header.size()], expected.bytes, "what is answered at {offset}");
                }
                Err(error) => assert!(is_log, "no batch at {offset}: {error}"),
            }
        }
    }
}
