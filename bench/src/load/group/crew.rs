//! Members of one group that each join and heartbeat in a thread of their own, as many separate clients do.
//!
//! Invariant: a member stands in a generation from the answer that brought its share until it learns that it must
//! enter again. The group is settled when as many members as there shall be stand in the same generation and have all
//! partitions between them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::member::{Assignor, GroupShape, Member};

/// A thread's stack: a member needs little.
const STACK_BYTES: usize = 256 << 10;
/// Between two looks whether a group is settled; the time comes from the members, not from the looks.
const LOOK: Duration = Duration::from_millis(5);
/// How long a group may take to settle.
const SETTLE_WAIT_MAX: Duration = Duration::from_secs(180);

/// What all members shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Heartbeat,
    Rest,
    Leave,
}

/// Where a member is.
#[derive(Debug, Clone, Copy)]
struct Standing {
    generation: i32,
    partitions: usize,
    since: Instant,
}

#[derive(Debug)]
struct State {
    order: Order,
    standings: Vec<Option<Standing>>,
    heartbeats: u64,
    entries: u64,
    /// Members whose threads ended before they were told to leave.
    is_broken: bool,
}

#[derive(Debug)]
struct Board {
    state: Mutex<State>,
    ordered: Condvar,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When all members of a group had their shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    /// When the last one had.
    pub(super) at: Instant,
    /// In which generation.
    pub(super) generation: i32,
}

/// The members.
#[derive(Debug)]
pub(super) struct Crew {
    group: GroupShape,
    heartbeat: Duration,
    board: Arc<Board>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Crew {
    /// Nobody yet; members will heartbeat at this interval.
    pub(super) fn new(group: GroupShape, heartbeat: Duration) -> Self {
        let state =
            State { order: Order::Heartbeat, standings: Vec::new(), heartbeats: 0, entries: 0, is_broken: false };
        let board = Arc::new(Board { state: Mutex::new(state), ordered: Condvar::new() });
        Self { group, heartbeat, board, threads: Vec::new() }
    }

    /// Lets a connected member enter and then heartbeat.
    pub(super) fn add(&mut self, member: Member) -> Result<()> {
        let number = self.threads.len();
        self.board.lock().standings.push(None);
        let watch =
            Watch { board: Arc::clone(&self.board), number, heartbeat: self.heartbeat, assignor: self.group.assignor };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let done = watch.run(member);
            if done.is_err() {
                watch.board.lock().is_broken = true;
            }
            done
        });
        self.threads.push(thread.context("cannot start a member's thread")?);
        Ok(())
    }

    /// Waits until all members are settled.
    pub(super) fn wait_until_settled(&mut self) -> Result<Settled> {
        let deadline = Instant::now() + SETTLE_WAIT_MAX;
        loop {
            let (settled, is_broken) = {
                let state = self.board.lock();
                (settled(&state.standings, self.group.partitions), state.is_broken)
            };
            if let Some(settled) = settled {
                return Ok(settled);
            }
            if is_broken {
                self.join_threads()?;
            }
            if Instant::now() > deadline {
                bail!("{} has not settled in {} s", self.group.name, SETTLE_WAIT_MAX.as_secs());
            }
            thread::sleep(LOOK);
        }
    }

    /// Heartbeats that were answered so far.
    pub(super) fn heartbeats(&self) -> u64 {
        self.board.lock().heartbeats
    }

    /// How often a member got a share so far.
    pub(super) fn entries(&self) -> u64 {
        self.board.lock().entries
    }

    /// Lets the members do nothing at all.
    pub(super) fn rest(&self) {
        self.order(Order::Rest);
    }

    /// Lets every member leave.
    pub(super) fn leave(mut self) -> Result<()> {
        self.join_threads()
    }

    fn order(&self, order: Order) {
        self.board.lock().order = order;
        self.board.ordered.notify_all();
    }

    fn join_threads(&mut self) -> Result<()> {
        self.order(Order::Leave);
        let done = self.threads.drain(..).map(|thread| match thread.join() {
            Ok(done) => done,
            Err(_) => Err(anyhow!("a member's thread panicked")),
        });
        // All of them are waited for, whatever one of them says.
        done.collect::<Vec<_>>().into_iter().collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Whoever waits for a failure has it already; the threads end by themselves.
        self.order(Order::Leave);
    }
}

/// What a member's thread has to know.
#[derive(Debug)]
struct Watch {
    board: Arc<Board>,
    number: usize,
    heartbeat: Duration,
    assignor: Assignor,
}

impl Watch {
    fn run(&self, mut member: Member) -> Result<()> {
        self.enter(&mut member)?;
        let mut due = Instant::now() + self.heartbeat;
        while self.wait(due) {
            let is_well = member.heartbeat()?;
            self.board.lock().heartbeats += 1;
            due += self.heartbeat;
            if !is_well {
                self.enter(&mut member)?;
                due = Instant::now() + self.heartbeat;
            }
        }
        member.leave()
    }

    fn enter(&self, member: &mut Member) -> Result<()> {
        loop {
            if self.assignor == Assignor::Eager {
                self.board.lock().standings[self.number] = None;
            }
            let must_again = member.enter()?;
            let standing =
                Standing { generation: member.generation(), partitions: member.share().len(), since: Instant::now() };
            let mut state = self.board.lock();
            state.standings[self.number] = Some(standing);
            state.entries += 1;
            // Eager members have let everything go before, so that nothing is left to be handed out.
            if !must_again || self.assignor == Assignor::Eager {
                return Ok(());
            }
        }
    }

    /// Waits until a heartbeat is due; answers `false` when the member shall leave.
    fn wait(&self, due: Instant) -> bool {
        let mut state = self.board.lock();
        loop {
            let now = Instant::now();
            state = match state.order {
                Order::Leave => return false,
                Order::Heartbeat if now >= due => return true,
                Order::Heartbeat => {
                    let waited = self.board.ordered.wait_timeout(state, due - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Order::Rest => self.board.ordered.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn settled(standings: &[Option<Standing>], partitions: i32) -> Option<Settled> {
    let first = (*standings.first()?)?;
    let mut at = first.since;
    let mut held = 0;
    for standing in standings {
        let standing = (*standing)?;
        if standing.generation != first.generation {
            return None;
        }
        at = at.max(standing.since);
        held += standing.partitions;
    }
    (held == partitions.unsigned_abs() as usize).then_some(Settled { at, generation: first.generation })
}
