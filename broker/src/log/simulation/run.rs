//! One seed's story: operations are drawn and done, the power goes, the log comes back, and all of it is held against
//! the model.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::broker::{DIRECTORY, ROOT, SimulatedBroker, Synced};
use super::checks::Held;
use super::model::Model;
use super::operations::{Change, Operation, pick};
use crate::checkpoints::{CHECKPOINTS, LOG_STARTS};
use crate::disk::{Disk, SimulatedDisk};
use crate::log::{LogConfig, LogError};

/// Steps of a story.
const STEPS: usize = 70;

/// What was done so far, to be told when it went wrong.
pub(super) type Story = Arc<Mutex<Vec<String>>>;

/// A log, what it must hold, and where the story stands.
pub(super) struct Simulation {
    pub(super) disk: SimulatedDisk,
    pub(super) broker: SimulatedBroker,
    pub(super) model: Model,
    pub(super) random: StdRng,
    pub(super) held: Vec<Held>,
    open_files: usize,
    /// Nothing more can be foreseen.
    is_over: bool,
    pub(super) story: Story,
}

/// How a log's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The power was cut.
    PowerCut,
    /// What was written stays in the page cache.
    Killed,
    /// As the last, after a sync failed and that was noted down: the log ends where the last one had succeeded.
    SyncFailed,
    /// In order.
    Stopped,
}

/// Tells one seed's story; panics where the log is not what it must be.
pub(super) fn run(seed: u64, story: &Story) {
    let mut random = StdRng::seed_from_u64(seed);
    let config = config(&mut random);
    let (disk, open_files) = (SimulatedDisk::new(), random.random_range(1..8));
    let is_async = random.random_ratio(1, 4);
    story.lock().push(format!("{config:?}, async {is_async}"));
    let broker = SimulatedBroker::start(&disk, config, 1_000_000, -1, (open_files, is_async), |_| ()).expect("starts");
    let (model, story) = (Model::default(), Arc::clone(story));
    let mut simulation =
        Simulation { disk, broker, model, random, held: Vec::new(), open_files, is_over: false, story };
    for _ in 0..STEPS {
        if simulation.is_over {
            return;
        }
        let operation = Operation::draw(&mut simulation.random);
        simulation.story.lock().push(format!("{operation:?}"));
        simulation.broker.now_ms += simulation.random.random_range(0..20);
        let ended = simulation.apply(operation);
        match ended {
            _ if simulation.disk.is_cut() => simulation.restart(End::PowerCut),
            Some(end) => simulation.restart(end),
            None => simulation.check_step(),
        }
    }
    if simulation.is_over {
        return;
    }
    let crashes = !simulation.random.random_ratio(1, 4);
    if crashes {
        simulation.restart(End::PowerCut);
    }
    if !simulation.is_over && (!crashes || simulation.random.random_ratio(1, 3)) {
        simulation.rot();
    }
}

fn config(random: &mut StdRng) -> LogConfig {
    let mut config = LogConfig {
        segment_bytes: 2_000,
        index_interval_bytes: 100,
        grow_ahead_bytes: 4_096,
        file_delete_delay_ms: 0,
        min_cleanable_dirty_ratio: 0.0,
        retention_ms: -1,
        ..LogConfig::default()
    };
    for _ in 0..random.random_range(0..8) {
        Change::draw(random).apply(&mut config);
    }
    config
}

impl Simulation {
    /// Does it; answers how the process ended, if it did.
    fn apply(&mut self, operation: Operation) -> Option<End> {
        match operation {
            Operation::Append(draft) => self.append(&draft),
            Operation::EndTransaction { producer_id, commit, epoch_ahead, coordinator_ahead } => {
                return self.end_transaction(producer_id, commit, epoch_ahead, coordinator_ahead);
            }
            Operation::BeginSync => self.broker.begin_sync(),
            Operation::FinishSync => return self.finish_sync(),
            Operation::Roll => {
                let now_ms = self.broker.now_ms;
                let rolled = self.broker.log.end().position > 0;
                if rolled {
                    let _ = self.broker.log.roll(now_ms);
                }
            }
            Operation::SaveEpochs => {
                if let Some(unsaved) = self.broker.log.unsaved_epochs()
                    && unsaved.save(&self.disk).is_ok()
                {
                    self.broker.log.epochs_saved(&unsaved);
                }
            }
            Operation::PrepareCheckpoint => {
                let _ = self.broker.log.prepare_checkpoint();
            }
            Operation::WriteCheckpointFiles => {
                let _ = self.write_checkpoint_files();
            }
            Operation::Configure(change) => {
                change.apply(&mut self.broker.config);
                self.broker.log.configure(Arc::new(self.broker.config));
            }
            Operation::PassTime { ms } => self.broker.now_ms += ms,
            Operation::Retain => self.retain(),
            Operation::DeleteRecords { thousandths } => self.delete_records(thousandths),
            Operation::Compact { dedupe_buffer_bytes, disturbed_at, appends } => {
                return self.compact(dedupe_buffer_bytes, disturbed_at, appends);
            }
            Operation::ExpireProducers { ms } => {
                self.broker.log.expire_producers(self.broker.now_ms, ms);
                let end = self.model.end();
                self.model.producers.expire(self.broker.now_ms - ms, end);
            }
            Operation::HoldView => self.hold(),
            Operation::Check => self.check_all(),
            Operation::CloseAndReopen => {
                let stopped = self.broker.stop();
                self.model.high_watermark = self.broker.high_watermark.offset;
                self.model.durable_end = self.broker.durable_end;
                return Some(match stopped {
                    Ok(Synced::Done) => End::Stopped,
                    Ok(Synced::Failed) => End::SyncFailed,
                    Ok(Synced::FailedUnnoted) => End::PowerCut,
                    Err(_) => End::Killed,
                });
            }
            Operation::Kill => return Some(End::Killed),
            Operation::CutPower { after } => self.disk.cut_power_at(self.disk.operations() + after),
            Operation::FailOne { after } => self.disk.fail_nth_operation(self.disk.operations() + after),
            Operation::Fill { bytes } => self.disk.fill_after(bytes),
            Operation::MakeRoom => self.disk.set_capacity(u64::MAX),
        }
        None
    }

    fn finish_sync(&mut self) -> Option<End> {
        let synced = self.broker.finish_sync();
        self.model.high_watermark = self.broker.high_watermark.offset;
        self.model.durable_end = self.broker.durable_end;
        match synced {
            Synced::Done => None,
            Synced::Failed => Some(pick(&mut self.random, &[End::SyncFailed, End::PowerCut])),
            // Were only the process started again, it would find in the page cache what is not on the disk.
            Synced::FailedUnnoted => Some(End::PowerCut),
        }
    }

    pub(super) fn write_checkpoint_files(&mut self) -> bool {
        let written = self.broker.write_checkpoint_files().is_ok();
        if written {
            self.broker.log.recovery_point_written(self.broker.log.recovery_point());
            self.model.start_durable = self.broker.log.log_start_offset();
        }
        written
    }

    fn delete_records(&mut self, thousandths: i64) {
        let start = self.broker.log.log_start_offset();
        let to = start + (self.broker.high_watermark.offset - start) * thousandths / 1000;
        self.broker.log.advance_log_start(to);
        self.model.start_decided = self.model.start_decided.max(to);
        self.write_checkpoint_files();
    }

    /// As the maintenance thread does.
    pub(super) fn retain(&mut self) {
        let start = self.broker.log.retained_from(self.broker.high_watermark.offset, self.broker.now_ms);
        self.check_retention(start);
        self.broker.log.advance_log_start(start);
        self.model.start_decided = self.model.start_decided.max(start);
        if self.broker.log.has_segments_below_start() && !self.write_checkpoint_files() {
            return;
        }
        let _ = self.broker.log.remove_segments_below_start(self.broker.now_ms);
        let _ = self.broker.log.remove_due(self.broker.now_ms);
    }

    /// Ends the process and starts the broker again, with more power cuts while it starts.
    fn restart(&mut self, end: End) {
        self.story.lock().push(format!("= {end:?}, operation {} of the disk", self.disk.operations()));
        let was = self.broker.log.next_offset();
        self.held.clear();
        self.broker.pending = None;
        let mut power_was_cut = end == End::PowerCut || self.disk.is_cut();
        if power_was_cut {
            self.disk.crash(self.random.random());
        }
        self.disk.cut_power_at(0);
        self.disk.fail_nth_operation(0);
        self.disk.set_capacity(u64::MAX);
        if self.random.random_ratio(1, 10) {
            self.lose_checkpoint();
        }
        let mut cuts = if self.random.random_ratio(1, 3) { self.random.random_range(1..3) } else { 0 };
        self.broker = loop {
            if cuts > 0 {
                self.disk.cut_power_at(self.disk.operations() + self.random.random_range(1..20));
            }
            match self.start() {
                Ok(broker) => break broker,
                Err(_) if self.disk.is_cut() => {
                    self.story.lock().push(format!("= another cut, operation {}", self.disk.operations()));
                    power_was_cut = true;
                    self.disk.crash(self.random.random());
                    cuts -= 1;
                }
                Err(error) => panic!("the log cannot be opened: {error} {:?}", std::error::Error::source(&error)),
            }
        };
        self.disk.cut_power_at(0);
        let log = &self.broker.log;
        let offsets = (log.log_start_offset(), log.next_offset(), log.first_unstable_offset());
        self.story.lock().push(format!("= start, end, unstable {offsets:?}; {:?}", log.producers().snapshot()));
        let found = self.broker.log.next_offset();
        match end {
            _ if power_was_cut => {}
            End::Killed | End::Stopped if self.model.in_flight.is_none() => assert_eq!(found, was),
            End::SyncFailed => assert_eq!(found, self.model.durable_end.max(self.broker.log.log_start_offset())),
            _ => {}
        }
        let has_holes = std::mem::take(&mut self.model.may_have_holes);
        self.is_over = power_was_cut && (has_holes || self.has_torn_epoch());
        if self.is_over { self.check_durable() } else { self.check_recovered() }
    }

    /// A checkpoint file is gone, or holds something else.
    fn lose_checkpoint(&mut self) {
        let lost = pick(&mut self.random, &CHECKPOINTS);
        let content =
            pick(&mut self.random, &[None, Some(&b""[..]), Some(b"0\n1\nt 0 "), Some(&[0; 12]), Some(b"\xFF")]);
        self.story.lock().push(format!("= {lost} is lost: {content:?}"));
        let path = Path::new(ROOT).join(lost);
        let done = match content {
            Some(content) => self.disk.replace_small(&path, content),
            None => self.disk.remove(&path).and_then(|()| self.disk.sync_directory(Path::new(ROOT))),
        };
        done.expect("writes");
        if lost == LOG_STARTS {
            self.model.lost_log_start();
        }
    }

    fn start(&mut self) -> Result<SimulatedBroker, LogError> {
        let (config, now_ms, epoch) = (self.broker.config, self.broker.now_ms, self.broker.leader_epoch);
        let (model, mut is_known) = (&self.model, true);
        let how = (self.open_files, self.broker.is_async);
        let started = SimulatedBroker::start(&self.disk, config, now_ms, epoch, how, |opening| {
            let names = self.disk.list(Path::new(DIRECTORY)).unwrap_or_default();
            let mut names: Vec<_> = names.iter().map(|entry| entry.name.trim_start_matches('0')).collect();
            names.sort_unstable();
            self.story.lock().push(format!("= {opening:?}, {}", names.join(" ")));
            // What is deleted needs no recovery.
            let was_checked = model.durable_end == 0 || model.may_have_holes;
            let is_durable = opening.recovery_point <= model.durable_end.max(model.start_decided) || was_checked;
            assert!(is_durable, "{opening:?} is beyond what was synced");
            assert!(opening.log_start_offset <= model.start_decided, "{opening:?} was never decided");
            is_known = opening.is_known;
        });
        self.model.may_have_holes |= !is_known;
        started
    }
}
