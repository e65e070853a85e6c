//! Sticky: as even as can be, and of all such ways one that moves little.
//!
//! A member keeps what it held in the newest generation that anyone claims it for; a claim that two raise in the same
//! generation counts for neither. With equal subscriptions each keeps up to its quota, and the larger quotas go to
//! those who hold the most: no even way keeps more. With different ones, single moves from a fuller member to an
//! emptier one are made until none evens anything out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Member, TopicPartition, subscribers};

pub(super) fn assign(members: &[&Member], counts: &BTreeMap<String, i32>) -> Vec<BTreeSet<TopicPartition>> {
    let topics = subscribers(members, counts);
    let mut kept = claims(members, &topics);
    let equal = topics.iter().all(|(_, _, subscribers)| subscribers.len() == members.len());
    if equal {
        cut_to_quota(&mut kept, topics.iter().map(|(_, count, _)| *count as usize).sum());
    }
    let taken: BTreeSet<TopicPartition> = kept.iter().flatten().cloned().collect();
    for (topic, count, subscribers) in &topics {
        for partition in 0..*count {
            let free = TopicPartition::new(*topic, partition);
            if !taken.contains(&free)
                && let Some(member) = subscribers.iter().min_by_key(|member| kept[**member].len())
            {
                kept[*member].insert(free);
            }
        }
    }
    if !equal {
        even_out(&mut kept, &topics);
    }
    kept
}

/// As [`assign`], but for partitions that another member still holds: those are nobody's until it has let them go and
/// joined again.
pub(super) fn assign_what_is_free(
    members: &[&Member],
    counts: &BTreeMap<String, i32>,
) -> Vec<BTreeSet<TopicPartition>> {
    let mut held: HashMap<&TopicPartition, Vec<usize>> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        member.owned.iter().for_each(|partition| held.entry(partition).or_default().push(index));
    }
    let mut shares = assign(members, counts);
    for (index, share) in shares.iter_mut().enumerate() {
        share.retain(|partition| {
            held.get(partition).is_none_or(|holders| holders.iter().all(|holder| *holder == index))
        });
    }
    shares
}

/// What each member may claim.
fn claims(members: &[&Member], topics: &[(&str, i32, Vec<usize>)]) -> Vec<BTreeSet<TopicPartition>> {
    let counts: HashMap<&str, i32> = topics.iter().map(|(topic, count, _)| (*topic, *count)).collect();
    // The newest generation of each claim and whose it is; `None` where two claim the same.
    let mut newest: HashMap<&TopicPartition, (i32, Option<usize>)> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        for claimed in &member.owned {
            let exists = counts.get(&*claimed.topic).is_some_and(|count| (0..*count).contains(&claimed.partition));
            if !exists || !member.topics.contains(&claimed.topic) {
                continue;
            }
            let claim = newest.entry(claimed).or_insert((member.generation, Some(index)));
            if claim.0 < member.generation {
                *claim = (member.generation, Some(index));
            } else if claim.0 == member.generation && claim.1 != Some(index) {
                claim.1 = None;
            }
        }
    }
    let mut kept = vec![BTreeSet::new(); members.len()];
    for (claimed, (_, owner)) in newest {
        if let Some(owner) = owner {
            kept[owner].insert(claimed.clone());
        }
    }
    kept
}

/// Takes from each member what is beyond its quota of `total` partitions.
fn cut_to_quota(kept: &mut [BTreeSet<TopicPartition>], total: usize) {
    let (each, extra) = (total / kept.len().max(1), total % kept.len().max(1));
    let mut by_size: Vec<usize> = (0..kept.len()).collect();
    by_size.sort_by_key(|index| std::cmp::Reverse(kept[*index].len()));
    for (rank, index) in by_size.into_iter().enumerate() {
        let quota = each + usize::from(rank < extra);
        while kept[index].len() > quota {
            kept[index].pop_last();
        }
    }
}

/// Moves single partitions from fuller members to emptier ones until no move evens anything out.
fn even_out(shares: &mut [BTreeSet<TopicPartition>], topics: &[(&str, i32, Vec<usize>)]) {
    let subscribers: HashMap<&str, &Vec<usize>> =
        topics.iter().map(|(topic, _, subscribers)| (*topic, subscribers)).collect();
    // Each move makes the sum of squares smaller, so this ends.
    loop {
        let mut moved = false;
        for from in 0..shares.len() {
            let candidates: Vec<TopicPartition> = shares[from].iter().rev().cloned().collect();
            for candidate in candidates {
                let Some(others) = subscribers.get(&*candidate.topic) else { continue };
                let Some(to) = others.iter().copied().min_by_key(|other| shares[*other].len()) else { continue };
                if shares[to].len() + 1 < shares[from].len() {
                    shares[from].remove(&candidate);
                    shares[to].insert(candidate);
                    moved = true;
                }
            }
        }
        if !moved {
            return;
        }
    }
}
