//! All members of a group, and the strategies they have in common.
//!
//! Invariants: a `group.instance.id` belongs to one current member; the counts of awaiting joins and of offered
//! strategies are those of the members held; no member keeps the frame of its request in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;

use super::event::{MemberProtocol, WaiterId};
use super::member::Member;

/// The members of one group, by id.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Boxed: a tree's nodes are a third empty.
    by_id: BTreeMap<Arc<str>, Box<Member>>,
    /// Member id by `group.instance.id`.
    static_ids: BTreeMap<Arc<str>, Arc<str>>,
    /// How many members offer each strategy.
    offered: BTreeMap<Arc<str>, usize>,
    awaiting_join: usize,
    arrivals: u64,
    metadata_bytes: usize,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Members whose JoinGroup is parked.
    pub(super) fn awaiting_join(&self) -> usize {
        self.awaiting_join
    }

    /// What all members offer, in bytes of subscription metadata.
    pub(super) fn metadata_bytes(&self) -> usize {
        self.metadata_bytes
    }

    pub(super) fn get(&self, member_id: &str) -> Option<&Member> {
        self.by_id.get(member_id).map(|member| &**member)
    }

    /// For changes that touch neither what the member offers nor its parked join.
    pub(super) fn get_mut(&mut self, member_id: &str) -> Option<&mut Member> {
        self.by_id.get_mut(member_id).map(|member| &mut **member)
    }

    pub(super) fn contains(&self, member_id: &str) -> bool {
        self.by_id.contains_key(member_id)
    }

    /// In order of member id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.by_id.values().map(|member| &**member)
    }

    /// In order of member id, for changes as in [`Members::get_mut`].
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.by_id.values_mut().map(|member| &mut **member)
    }

    /// The current member of a `group.instance.id`.
    pub(super) fn static_member(&self, group_instance_id: &str) -> Option<&Arc<str>> {
        self.static_ids.get(group_instance_id)
    }

    /// Adds a member whose id, and instance id if any, are not in the group yet.
    pub(super) fn insert(&mut self, mut member: Member) {
        self.arrivals += 1;
        member.arrival = self.arrivals;
        if let Some(neighbour) = self.neighbour(&member.id) {
            share(&mut member.client_id, &neighbour.client_id);
            share(&mut member.client_host, &neighbour.client_host);
        }
        member.protocols = self.kept(&member.id, &member.protocols);
        self.count_in(&member);
        let replaced = self.by_id.insert(Arc::clone(&member.id), Box::new(member));
        debug_assert!(replaced.is_none(), "the caller has checked that the member is new");
    }

    /// Takes a member out, with whatever it has parked.
    pub(super) fn remove(&mut self, member_id: &str) -> Option<Box<Member>> {
        let member = self.by_id.remove(member_id)?;
        self.count_out(&member);
        Some(member)
    }

    /// Gives a static member a new id; returns what the old one had parked: its join and its sync.
    pub(super) fn replace_static(
        &mut self,
        old_member_id: &str,
        new_member_id: &Arc<str>,
    ) -> Option<(Option<WaiterId>, Option<WaiterId>)> {
        let mut member = self.remove(old_member_id)?;
        let parked = (member.awaiting_join.take(), member.awaiting_sync.take());
        member.id = Arc::clone(new_member_id);
        self.count_in(&member);
        self.by_id.insert(Arc::clone(new_member_id), member);
        Some(parked)
    }

    /// Renews what a member offers.
    pub(super) fn offer(&mut self, member_id: &str, protocols: &[MemberProtocol]) {
        if self.get(member_id).is_some_and(|member| member.offers_exactly(protocols)) {
            return;
        }
        let Some(mut member) = self.remove(member_id) else { return };
        member.protocols = self.kept(member_id, protocols);
        self.count_in(&member);
        self.by_id.insert(Arc::clone(&member.id), member);
    }

    /// Parks a join; returns the one of the same member that it displaces.
    pub(super) fn park_join(&mut self, member_id: &str, waiter: WaiterId) -> Option<WaiterId> {
        let member = self.by_id.get_mut(member_id)?;
        let displaced = member.awaiting_join.replace(waiter);
        self.awaiting_join += usize::from(displaced.is_none());
        displaced
    }

    /// Takes a member's parked join, to be answered.
    pub(super) fn take_join(&mut self, member_id: &str) -> Option<WaiterId> {
        let waiter = self.by_id.get_mut(member_id)?.awaiting_join.take()?;
        self.awaiting_join -= 1;
        Some(waiter)
    }

    /// Whether a member with these strategies shares at least one with all others. True in a group without members.
    pub(super) fn share_any(&self, protocols: &[MemberProtocol]) -> bool {
        protocols.iter().any(|protocol| self.offered.get(&protocol.name).copied().unwrap_or(0) == self.by_id.len())
    }

    /// The strategy with the most votes, each member voting for its first among those that all offer. Of equals the
    /// one that comes first among the votes of the members in order of arrival. `None` without members.
    pub(super) fn elect_protocol(&self) -> Option<Arc<str>> {
        let mut votes: Vec<(&Arc<str>, usize, u64)> = Vec::new();
        for member in self.by_id.values() {
            let Some(choice) = member.protocols.iter().find(|protocol| self.all_offer(&protocol.name)) else {
                continue;
            };
            match votes.iter_mut().find(|(name, ..)| *name == &choice.name) {
                Some((_, count, earliest)) => {
                    *count += 1;
                    *earliest = (*earliest).min(member.arrival);
                }
                None => votes.push((&choice.name, 1, member.arrival)),
            }
        }
        votes
            .into_iter()
            .max_by_key(|(_, count, earliest)| (*count, std::cmp::Reverse(*earliest)))
            .map(|(name, ..)| Arc::clone(name))
    }

    /// The longest any member may take to rejoin; zero without members.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        self.by_id.values().map(|member| member.rebalance_timeout).max().unwrap_or(Duration::ZERO)
    }

    /// The earliest arrival among those that `is_eligible`.
    pub(super) fn earliest(&self, is_eligible: impl Fn(&Member) -> bool) -> Option<&Arc<str>> {
        self.by_id
            .values()
            .filter(|member| is_eligible(member.as_ref()))
            .min_by_key(|member| member.arrival)
            .map(|member| &member.id)
    }

    /// A member beside this one in the order of ids. Ids begin with the client's, so it is likely one of its kind.
    fn neighbour(&self, member_id: &str) -> Option<&Member> {
        let before = (Bound::Unbounded, Bound::Excluded(member_id));
        let behind = (Bound::Excluded(member_id), Bound::Unbounded);
        let before = self.by_id.range::<str, _>(before).next_back();
        before.or_else(|| self.by_id.range::<str, _>(behind).next()).map(|(_, neighbour)| &**neighbour)
    }

    /// What a member offers, as it is kept: together with its neighbour where that offers the same, else copied into
    /// one piece, so that the request's whole frame does not stay in memory.
    fn kept(&self, member_id: &str, protocols: &[MemberProtocol]) -> Arc<[MemberProtocol]> {
        if let Some(neighbour) = self.neighbour(member_id)
            && neighbour.offers_exactly(protocols)
        {
            return Arc::clone(&neighbour.protocols);
        }
        let mut metadata = BytesMut::with_capacity(metadata_bytes(protocols));
        for protocol in protocols {
            metadata.extend_from_slice(&protocol.metadata);
        }
        let mut metadata = metadata.freeze();
        let protocols = protocols.iter().map(|protocol| MemberProtocol {
            name: self.offered.get_key_value(&protocol.name).map_or(&protocol.name, |(name, _)| name).clone(),
            metadata: metadata.split_to(protocol.metadata.len()),
        });
        protocols.collect()
    }

    fn all_offer(&self, protocol_name: &str) -> bool {
        self.offered.get(protocol_name).is_some_and(|count| *count == self.by_id.len())
    }

    fn count_in(&mut self, member: &Member) {
        for name in distinct_names(&member.protocols) {
            *self.offered.entry(Arc::clone(name)).or_default() += 1;
        }
        if let Some(group_instance_id) = &member.group_instance_id {
            self.static_ids.insert(Arc::clone(group_instance_id), Arc::clone(&member.id));
        }
        self.awaiting_join += usize::from(member.awaiting_join.is_some());
        self.metadata_bytes += metadata_bytes(&member.protocols);
    }

    fn count_out(&mut self, member: &Member) {
        for name in distinct_names(&member.protocols) {
            if let Some(count) = self.offered.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.offered.remove(name);
                }
            }
        }
        if let Some(group_instance_id) = &member.group_instance_id {
            self.static_ids.remove(group_instance_id);
        }
        self.awaiting_join -= usize::from(member.awaiting_join.is_some());
        self.metadata_bytes -= metadata_bytes(&member.protocols);
    }
}

/// Bytes of subscription metadata under all these strategies.
pub(super) fn metadata_bytes(protocols: &[MemberProtocol]) -> usize {
    protocols.iter().map(|protocol| protocol.metadata.len()).sum()
}

/// Keeps one of two texts that say the same.
fn share(own: &mut Arc<str>, other: &Arc<str>) {
    if own == other {
        own.clone_from(other);
    }
}

/// A client may name a strategy twice; it still has one voice.
fn distinct_names(protocols: &[MemberProtocol]) -> impl Iterator<Item = &Arc<str>> {
    protocols
        .iter()
        .enumerate()
        .filter(|(position, protocol)| protocols[..*position].iter().all(|earlier| earlier.name != protocol.name))
        .map(|(_, protocol)| &protocol.name)
}
