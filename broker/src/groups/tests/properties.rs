//! Clients that do anything at any time, against a plain account of what they were told.
//!
//! The account knows nothing of states or timers: only who was admitted to which generation, who has been replaced,
//! and which commits were confirmed. Whatever the clients do, it must come out right, every request must be
//! answered once, and clients that behave again must end up in one stable generation.

mod account;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use proptest::prelude::*;

use super::super::action::JoinedMember;
use super::super::event::{Producer, Sync, WaiterId};
use super::super::limits::GroupLimits;
use super::harness::{Harness, protocols};

const CLIENTS: usize = 6;
/// Two processes share the first instance id; the last two clients have none.
const INSTANCES: [Option<&str>; CLIENTS] = [Some("one"), Some("one"), Some("two"), Some("three"), None, None];

#[derive(Clone, Copy, Debug)]
enum Step {
    Join(usize),
    /// The process starts anew: it has forgotten its member id.
    Forget(usize),
    Sync(usize),
    Heartbeat(usize),
    Leave(usize),
    Commit(usize),
    /// As a commit, but inside the client's own transaction.
    CommitInTransaction(usize),
    EndTransaction(usize, bool),
    OfferOther(usize),
    MakeDurable,
    Pass(u64),
    ExpireOffsets,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        8 => client.clone().prop_map(Step::Join),
        1 => client.clone().prop_map(Step::Forget),
        6 => client.clone().prop_map(Step::Sync),
        4 => client.clone().prop_map(Step::Heartbeat),
        1 => client.clone().prop_map(Step::Leave),
        4 => client.clone().prop_map(Step::Commit),
        3 => client.clone().prop_map(Step::CommitInTransaction),
        2 => (client.clone(), any::<bool>()).prop_map(|(client, end)| Step::EndTransaction(client, end)),
        1 => client.prop_map(Step::OfferOther),
        6 => Just(Step::MakeDurable),
        4 => (1_u64..4_000).prop_map(Step::Pass),
        1 => (4_000_u64..90_000).prop_map(Step::Pass),
        1 => Just(Step::ExpireOffsets),
    ]
}

/// One client as it sees itself.
#[derive(Clone, Default)]
struct Client {
    member_id: String,
    generation: i32,
    is_leader: bool,
    offers_other: bool,
    /// Members the leader is to assign to.
    members: Vec<JoinedMember>,
    parked: Option<WaiterId>,
    /// The newcomer it is among those that came under its instance id, counted from 1.
    newcomer: usize,
}

struct World {
    harness: Harness,
    clients: Vec<Client>,
    /// The highest generation anyone was admitted to.
    generation: i32,
    /// Generation each member id was last admitted to.
    admitted: HashMap<String, i32>,
    /// Member ids that have been replaced, have left, or were told that they are unknown.
    gone: Vec<String>,
    /// Member id last admitted under each instance id.
    holders: HashMap<&'static str, String>,
    /// How many have come under each instance id without a member id.
    newcomers: HashMap<&'static str, usize>,
    /// Commits under way, oldest first: the offset, and the client whose transaction it is in.
    commits: Vec<(WaiterId, i64, Option<usize>)>,
    /// The last that was confirmed; offsets committed grow, so that the largest is the last.
    confirmed: Option<i64>,
    /// The last that was confirmed of each client's open transaction.
    pending: HashMap<usize, i64>,
    next_offset: i64,
    waiting: Vec<WaiterId>,
    /// How often the group was deleted.
    deletions: usize,
}

impl World {
    fn new(initial_delay_ms: u64) -> Self {
        let limits =
            GroupLimits { initial_rebalance_delay: Duration::from_millis(initial_delay_ms), ..GroupLimits::default() };
        let mut harness = Harness::with_limits(limits);
        harness.is_log_prompt = false;
        Self {
            harness,
            clients: vec![Client { generation: -1, ..Client::default() }; CLIENTS],
            generation: 0,
            admitted: HashMap::new(),
            gone: Vec::new(),
            holders: HashMap::new(),
            newcomers: HashMap::new(),
            commits: Vec::new(),
            confirmed: None,
            pending: HashMap::new(),
            next_offset: 0,
            waiting: Vec::new(),
            deletions: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Join(client) => self.join(client),
            Step::Forget(client) => self.clients[client] = Client { generation: -1, ..Client::default() },
            Step::Sync(client) => self.sync(client),
            Step::Heartbeat(client) => self.heartbeat(client),
            Step::Leave(client) => self.leave(client),
            Step::Commit(client) => self.commit(client, None),
            Step::CommitInTransaction(client) => self.commit(client, Some(client)),
            Step::EndTransaction(client, is_committed) => self.end_transaction(client, is_committed),
            Step::OfferOther(client) => self.clients[client].offers_other ^= true,
            Step::MakeDurable => self.harness.flush_one(),
            Step::Pass(wait_ms) => self.harness.pass(Duration::from_millis(wait_ms)),
            Step::ExpireOffsets => self.harness.expire_offsets(),
        }
        self.read_answers();
    }

    fn join(&mut self, client: usize) {
        let mut join = self.harness.join_request(&self.clients[client].member_id.clone());
        join.group_instance_id = INSTANCES[client].map(Arc::from);
        if self.clients[client].offers_other {
            join.protocols = protocols(&["sticky", "range"]);
        }
        self.clients[client].parked = Some(join.waiter);
        self.waiting.push(join.waiter);
        self.note_newcomer(client);
        self.harness.join(join);
    }

    fn sync(&mut self, client: usize) {
        let waiter = self.harness.waiter();
        let state = &mut self.clients[client];
        state.parked = Some(waiter);
        self.waiting.push(waiter);
        let assignments = if state.is_leader {
            state.members.iter().map(|member| (member.member_id.to_string(), share_of(member).into())).collect()
        } else {
            Vec::new()
        };
        let sync = Sync {
            waiter,
            member_id: Arc::from(&*state.member_id),
            group_instance_id: INSTANCES[client].map(Arc::from),
            generation: state.generation,
            protocol_type: None,
            protocol_name: None,
            assignments,
        };
        self.harness.sync_with(sync);
    }

    fn heartbeat(&mut self, client: usize) {
        let Client { member_id, generation, .. } = self.clients[client].clone();
        match self.harness.heartbeat_static(&member_id, INSTANCES[client], generation) {
            ErrorCode::None | ErrorCode::RebalanceInProgress => self.must_be_current(&member_id, generation),
            ErrorCode::UnknownMemberId => self.begin_anew(client),
            ErrorCode::FencedInstanceId => self.must_be_replaced(client, !member_id.is_empty()),
            ErrorCode::IllegalGeneration => assert_ne!(generation, self.generation),
            // The group is being deleted.
            ErrorCode::CoordinatorNotAvailable => {}
            other => panic!("a heartbeat is never answered with {other}"),
        }
    }

    fn leave(&mut self, client: usize) {
        let member_id = self.clients[client].member_id.clone();
        if member_id.is_empty() {
            return;
        }
        let waiter = self.harness.leave(&[(&member_id, INSTANCES[client])]);
        self.waiting.push(waiter);
        self.begin_anew(client);
    }

    fn commit(&mut self, client: usize, transaction: Option<usize>) {
        let Client { member_id, generation, .. } = self.clients[client].clone();
        let offset = self.next_offset;
        self.next_offset += 1;
        let mut commit = self.harness.commit_request(&member_id, generation, offset);
        commit.group_instance_id = INSTANCES[client].map(Arc::from);
        commit.producer = transaction.map(producer);
        let waiter = commit.waiter;
        let in_flight = self.harness.in_flight.len();
        self.harness.commit_with(commit);
        self.waiting.push(waiter);
        if self.harness.in_flight.len() > in_flight {
            self.commits.push((waiter, offset, transaction));
            if generation >= 0 {
                // Whoever was replaced commits nothing, inside a transaction or not.
                self.must_be_current(&member_id, generation);
            }
        }
    }

    /// A client ends its transaction once all it has committed in it is confirmed.
    fn end_transaction(&mut self, client: usize, is_committed: bool) {
        if self.commits.iter().any(|(.., transaction)| *transaction == Some(client)) {
            return;
        }
        self.harness.end_transaction(producer(client).id, is_committed);
        let offset = self.pending.remove(&client).filter(|_| is_committed);
        self.confirmed = self.confirmed.max(offset);
    }

    /// One client does what a real one does next.
    fn behave(&mut self, client: usize) {
        if self.clients[client].parked.is_some() {
            return;
        }
        let Client { member_id, generation, .. } = self.clients[client].clone();
        // A member id that has just been handed out is for joining with.
        let heartbeat = match generation {
            ..0 => ErrorCode::IllegalGeneration,
            _ => self.harness.heartbeat_static(&member_id, INSTANCES[client], generation),
        };
        match heartbeat {
            ErrorCode::None => self.sync(client),
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => self.join(client),
            _ => {
                self.begin_anew(client);
                self.join(client);
            }
        }
        self.harness.flush();
        self.read_answers();
    }
}

/// Every client has a producer of its own.
fn producer(client: usize) -> Producer {
    Producer { id: i64::try_from(client).unwrap(), epoch: 0, guard: None }
}

/// What the leader gives a member: its name, which for a static one outlives its member id.
fn share_of(member: &JoinedMember) -> String {
    member.group_instance_id.as_ref().unwrap_or(&member.member_id).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_clients_do_the_account_is_right_and_the_group_settles(
        initial_delay_ms in prop_oneof![Just(0_u64), Just(3_000)],
        steps in proptest::collection::vec(step(), 0..150),
    ) {
        let mut world = World::new(initial_delay_ms);
        for step in steps {
            world.step(step);
        }
        world.harness.flush();
        world.read_answers();

        // Clients 1 to 5 behave from here on; client 0, which shares an instance id with 1, is gone.
        for _ in 0..40 {
            for client in 1..CLIENTS {
                world.behave(client);
            }
            world.harness.pass(Duration::from_secs(3));
            world.read_answers();
        }
        for (client, instance_id) in world.clients.iter().zip(INSTANCES).skip(1) {
            let heartbeat = world.harness.heartbeat_static(&client.member_id, instance_id, client.generation);
            prop_assert_eq!(heartbeat, ErrorCode::None);
            prop_assert_eq!(client.generation, world.generation);
        }

        // Everybody falls silent: every request is answered, and nothing is left to wait for.
        world.harness.is_log_prompt = true;
        world.harness.pass(Duration::from_secs(1_000));
        world.read_answers();
        prop_assert_eq!(&world.waiting, &Vec::new());
        prop_assert_eq!(world.harness.shard.next_deadline(), None);
    }
}
