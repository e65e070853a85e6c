//! What the clients are told, entered into the account.

use pillion_wire::ErrorCode;

use super::super::super::action::{Answer, JoinAnswer, SyncAnswer};
use super::super::super::event::WaiterId;
use super::super::super::record::GroupRecord;
use super::super::harness::GROUP;
use super::{Client, INSTANCES, World};

impl World {
    /// The account's rule: only who was admitted to the newest generation, and was not replaced since.
    pub(super) fn must_be_current(&self, member_id: &str, generation: i32) {
        assert_eq!(generation, self.generation, "{member_id} is taken for current in an old generation");
        assert_eq!(self.admitted.get(member_id), Some(&generation), "{member_id} was never admitted");
        assert!(!self.gone.iter().any(|gone| gone == member_id), "{member_id} is taken for current, but is gone");
    }

    /// A client that joins without a member id takes the place of whoever came under its instance id before.
    pub(super) fn note_newcomer(&mut self, client: usize) {
        let Some(instance_id) = INSTANCES[client].filter(|_| self.clients[client].member_id.is_empty()) else { return };
        let newcomers = self.newcomers.entry(instance_id).or_default();
        *newcomers += 1;
        self.clients[client].newcomer = *newcomers;
    }

    /// Who is fenced has an instance id, and, if it `has_come` under that, is not the one who came last: nobody is fenced
    /// by himself.
    pub(super) fn must_be_replaced(&mut self, client: usize, has_come: bool) {
        let instance_id = INSTANCES[client].expect("only an instance id can be fenced");
        let newest = self.newcomers.get(instance_id).copied().unwrap_or_default();
        assert!(!has_come || self.clients[client].newcomer < newest, "{instance_id} is fenced by itself");
        self.begin_anew(client);
    }

    pub(super) fn begin_anew(&mut self, client: usize) {
        let state = &mut self.clients[client];
        let member_id = std::mem::take(&mut state.member_id);
        *state = Client { generation: -1, offers_other: state.offers_other, ..Client::default() };
        if !member_id.is_empty() {
            self.gone.push(member_id);
        }
    }

    pub(super) fn read_answers(&mut self) {
        self.note_deletions();
        let mut still_waiting = Vec::new();
        for waiter in std::mem::take(&mut self.waiting) {
            match self.harness.answer(waiter) {
                Some(answer) => self.read(waiter, answer),
                None => still_waiting.push(waiter),
            }
        }
        still_waiting.append(&mut self.waiting);
        self.waiting = still_waiting;
        assert_eq!(self.harness.committed(), self.confirmed, "what is fetched is the last commit confirmed");
        let is_pending = self.harness.shard.is_pending(GROUP, "orders", 0);
        assert_eq!(is_pending, !self.pending.is_empty(), "an open transaction may yet change it");
    }

    /// A group that was deleted begins anew, with members of its own.
    fn note_deletions(&mut self) {
        let deletions = self.harness.log.iter().filter(|record| is_deletion(record)).count();
        if deletions > self.deletions {
            self.deletions = deletions;
            self.generation = 0;
            self.gone.extend(self.admitted.drain().map(|(member_id, _)| member_id));
        }
    }

    fn read(&mut self, waiter: WaiterId, answer: Answer) {
        let client = self.clients.iter().position(|client| client.parked == Some(waiter));
        match answer {
            Answer::Join(answer) => self.read_join(client, answer),
            Answer::Sync(answer) => self.read_sync(client, answer),
            Answer::Leave(results) => assert_eq!(results.len(), 1),
            Answer::Commit(results) => self.read_commit(waiter, &results),
            other @ (Answer::DeleteGroup(_) | Answer::DeleteOffsets(_)) => panic!("nobody asked for {other:?}"),
        }
    }

    fn read_join(&mut self, client: Option<usize>, answer: JoinAnswer) {
        if answer.error == ErrorCode::None {
            assert!(answer.generation >= self.generation, "a generation never goes back");
            self.generation = answer.generation;
            self.admitted.insert(answer.member_id.to_string(), answer.generation);
        }
        let Some(client) = client else { return };
        self.clients[client].parked = None;
        match answer.error {
            ErrorCode::None => {
                let member_id = answer.member_id.to_string();
                if let Some(instance_id) = INSTANCES[client]
                    && let Some(replaced) = self.holders.insert(instance_id, member_id.clone())
                    && replaced != member_id
                {
                    self.gone.push(replaced);
                }
                self.clients[client] = Client {
                    is_leader: answer.leader == answer.member_id,
                    member_id,
                    generation: answer.generation,
                    offers_other: self.clients[client].offers_other,
                    members: answer.members,
                    parked: None,
                    newcomer: self.clients[client].newcomer,
                };
            }
            ErrorCode::MemberIdRequired => self.clients[client].member_id = answer.member_id.to_string(),
            ErrorCode::UnknownMemberId => self.begin_anew(client),
            ErrorCode::FencedInstanceId => self.must_be_replaced(client, true),
            ErrorCode::RebalanceInProgress | ErrorCode::CoordinatorNotAvailable => {}
            other => panic!("a join is never answered with {other} here"),
        }
    }

    fn read_sync(&mut self, client: Option<usize>, answer: SyncAnswer) {
        let Some(client) = client else { return };
        self.clients[client].parked = None;
        let Client { member_id, generation, .. } = self.clients[client].clone();
        match answer.error {
            ErrorCode::None => {
                self.must_be_current(&member_id, generation);
                let expected = INSTANCES[client].unwrap_or(&member_id);
                assert!(answer.assignment.is_empty() || answer.assignment == expected, "somebody else's assignment");
            }
            ErrorCode::UnknownMemberId => self.begin_anew(client),
            ErrorCode::FencedInstanceId => self.must_be_replaced(client, !member_id.is_empty()),
            ErrorCode::IllegalGeneration | ErrorCode::RebalanceInProgress | ErrorCode::CoordinatorNotAvailable => {}
            other => panic!("a sync is never answered with {other} here"),
        }
    }

    fn read_commit(&mut self, waiter: WaiterId, results: &[ErrorCode]) {
        let position = self.commits.iter().position(|(committing, ..)| *committing == waiter);
        match (position, results) {
            (Some(position), [ErrorCode::None]) => {
                assert_eq!(position, 0, "commits are confirmed in their order");
                let (_, offset, transaction) = self.commits.remove(position);
                match transaction {
                    Some(client) => {
                        self.pending.insert(client, offset);
                    }
                    None => self.confirmed = Some(offset),
                }
            }
            (None, [error]) => assert_ne!(*error, ErrorCode::None, "a commit that wrote nothing is confirmed"),
            other => panic!("unexpected results of a commit: {other:?}"),
        }
    }
}

fn is_deletion(record: &GroupRecord) -> bool {
    matches!(record, GroupRecord::Metadata { metadata: None, .. })
}
