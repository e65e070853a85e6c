//! One connection of a produce load: sends while fewer than so many requests are unanswered, and times the answers.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::ProduceLoad;
use crate::batch::{ProduceAnswer, ProduceFrame};
use crate::connection::{Connection, connect, error_name};
use crate::latency::Latencies;
use crate::socket::{self, Incoming, Outgoing};

/// When a run ends, and how it is paced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// Requests at most.
    pub(super) requests: u64,
    /// No request begins later than this.
    pub(super) time: Duration,
    /// Between one request and the next; `None` for as fast as answers come.
    pub(super) interval: Option<Duration>,
}

/// A connection with its partitions and the requests it goes round.
#[derive(Debug)]
pub(super) struct Pipeline {
    stream: TcpStream,
    topic: String,
    acks: i16,
    in_flight: usize,
    partitions: Vec<i32>,
    /// By partition, then by batch.
    frames: Vec<Vec<ProduceFrame>>,
    last_base_offsets: Vec<i64>,
    correlation_id: i32,
    outgoing: Outgoing,
    incoming: Incoming,
    unanswered: VecDeque<Unanswered>,
}

/// A request on its way.
#[derive(Debug)]
struct Unanswered {
    correlation_id: i32,
    /// Which of the pipeline's partitions.
    slot: usize,
    since: Instant,
}

impl Pipeline {
    /// Connects.
    pub(super) fn open(
        address: &str,
        load: &ProduceLoad,
        partitions: Vec<i32>,
        frames: Vec<Vec<ProduceFrame>>,
    ) -> Result<Self> {
        Ok(Self {
            stream: connect(address)?,
            topic: load.topic.clone(),
            acks: load.acks,
            in_flight: load.in_flight,
            last_base_offsets: vec![-1; partitions.len()],
            partitions,
            frames,
            correlation_id: 0,
            outgoing: Outgoing::default(),
            incoming: Incoming::new(),
            unanswered: VecDeque::new(),
        })
    }

    /// Sends until the bound is reached and everything is answered; `phase` is when the first request is due.
    /// Answers how many requests were sent, and the times from each one's sending (or due time) to its answer.
    pub(super) fn run(&mut self, bound: Bound, phase: Duration) -> Result<(u64, Latencies)> {
        let begun = Instant::now() + phase;
        let due = |request: u64| bound.interval.map(|interval| begun + interval.mul_f64(request as f64));
        let mut latencies = Latencies::default();
        let mut sent = 0;
        loop {
            let now = Instant::now();
            let is_over = sent >= bound.requests || now.saturating_duration_since(begun) >= bound.time;
            let mut pause = None;
            if !is_over && self.has_room() {
                match due(sent) {
                    Some(due) if due > now => pause = Some(due - now),
                    due => {
                        self.enqueue(sent, due.unwrap_or(now));
                        sent += 1;
                        // A full window goes out together; a paced request at once.
                        if due.is_none() && self.has_room() && sent < bound.requests {
                            continue;
                        }
                    }
                }
            }
            self.outgoing.send(&self.stream)?;
            if self.outgoing.is_empty() && self.unanswered.is_empty() {
                if is_over {
                    return Ok((sent, latencies));
                }
                if let Some(pause) = pause {
                    std::thread::sleep(pause);
                }
                continue;
            }
            self.receive(pause, &mut latencies)?;
        }
    }

    fn has_room(&self) -> bool {
        // Without acknowledgements the socket alone bounds what is on its way.
        if self.acks == 0 { self.outgoing.is_empty() } else { self.unanswered.len() < self.in_flight }
    }

    fn enqueue(&mut self, request: u64, since: Instant) {
        let slot = (request % self.partitions.len() as u64) as usize;
        let round = request / self.partitions.len() as u64;
        let frames = &self.frames[slot];
        let frame = &frames[(round % frames.len() as u64) as usize];
        self.correlation_id = self.correlation_id.wrapping_add(1);
        self.outgoing.extend(frame.parts(self.correlation_id));
        if self.acks != 0 {
            self.unanswered.push_back(Unanswered { correlation_id: self.correlation_id, slot, since });
        }
    }

    /// Takes answers, waiting for one unless there is something to send or `pause` is over before.
    fn receive(&mut self, pause: Option<Duration>, latencies: &mut Latencies) -> Result<()> {
        if self.outgoing.is_empty() && pause.is_none() {
            self.incoming.receive(&self.stream, true)?;
        } else if socket::wait(&self.stream, !self.outgoing.is_empty(), pause)? {
            self.incoming.receive(&self.stream, false)?;
        }
        let now = Instant::now();
        while let Some(frame) = self.incoming.next_frame() {
            let answer = ProduceAnswer::parse(frame, &self.topic).context("an answer that is too short")?;
            let asked = self.unanswered.pop_front().context("an answer that nobody asked for")?;
            let partition = self.partitions[asked.slot];
            ensure!(answer.correlation_id == asked.correlation_id, "answers came out of order");
            ensure!(answer.partition == partition, "an answer for partition {}", answer.partition);
            ensure!(answer.error_code == 0, "partition {partition}: {}", error_name(answer.error_code));
            let last = &mut self.last_base_offsets[asked.slot];
            ensure!(answer.base_offset > *last, "partition {partition}: base offset {} again", answer.base_offset);
            *last = answer.base_offset;
            latencies.record(now.saturating_duration_since(asked.since));
        }
        Ok(())
    }

    /// Waits until the broker has taken everything, which only requests without acknowledgement need: an answer to a
    /// request behind them shows it.
    pub(super) fn finish(self) -> Result<Connection> {
        let mut connection = Connection::over(self.stream);
        if self.acks == 0 {
            connection.greet()?;
        }
        Ok(connection)
    }
}
