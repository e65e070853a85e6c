use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Assignor, Member, TopicPartition};

const ALL: [Assignor; 4] = [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

fn member(id: &str, topics: &[&str]) -> Member {
    let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
    Member { id: id.to_owned(), topics, generation: -1, ..Member::default() }
}

fn counts(topics: &[(&str, i32)]) -> BTreeMap<String, i32> {
    topics.iter().map(|(topic, count)| ((*topic).to_owned(), *count)).collect()
}

/// Shares in short: `a0` is partition 0 of topic a.
fn short(shares: &[BTreeSet<TopicPartition>]) -> Vec<String> {
    let one = |share: &BTreeSet<TopicPartition>| {
        let names: Vec<_> = share.iter().map(|found| format!("{}{}", found.topic, found.partition)).collect();
        names.join(" ")
    };
    shares.iter().map(one).collect()
}

#[test]
fn range_gives_each_topic_in_ranges_and_what_is_left_over_to_the_first() {
    let members = [member("m2", &["a", "b"]), member("m1", &["a", "b"])];
    let shares = Assignor::Range.assign(&members, &counts(&[("a", 3), ("b", 3)]));
    assert_eq!(short(&shares), ["a2 b2", "a0 a1 b0 b1"]);
    // Java's own example with unequal subscriptions.
    let members = [member("c0", &["a"]), member("c1", &["a", "b"]), member("c2", &["a"])];
    let shares = Assignor::Range.assign(&members, &counts(&[("a", 2), ("b", 2)]));
    assert_eq!(short(&shares), ["a0", "a1 b0 b1", ""]);
}

#[test]
fn round_robin_goes_on_from_topic_to_topic_and_passes_over_who_does_not_want_it() {
    let members = [member("c0", &["a", "b"]), member("c1", &["a", "b"])];
    let shares = Assignor::RoundRobin.assign(&members, &counts(&[("a", 3), ("b", 3)]));
    assert_eq!(short(&shares), ["a0 a2 b1", "a1 b0 b2"]);
    // Java's own example with unequal subscriptions.
    let members = [member("c0", &["t0"]), member("c1", &["t0", "t1"]), member("c2", &["t0", "t1", "t2"])];
    let shares = Assignor::RoundRobin.assign(&members, &counts(&[("t0", 1), ("t1", 2), ("t2", 3)]));
    assert_eq!(short(&shares), ["t00", "t10", "t11 t20 t21 t22"]);
}

#[test]
fn static_members_come_first_by_their_instance_id() {
    let fixed = Member { instance_id: Some("fixed".to_owned()), ..member("z", &["a"]) };
    let shares = Assignor::Range.assign(&[member("a", &["a"]), fixed], &counts(&[("a", 3)]));
    assert_eq!(short(&shares), ["a2", "a0 a1"]);
}

#[test]
fn topic_that_is_not_there_is_nobodys() {
    for assignor in ALL {
        let shares = assignor.assign(&[member("m", &["missing"])], &counts(&[("other", 4)]));
        assert_eq!(short(&shares), [""], "{assignor:?}");
        assert!(assignor.assign(&[], &counts(&[("other", 4)])).is_empty());
    }
}

#[test]
fn sticky_moves_no_more_than_the_newcomer_needs() {
    let all = counts(&[("a", 6)]);
    let owner = |id: &str, owned: std::ops::Range<i32>| Member {
        owned: owned.map(|partition| TopicPartition::new("a", partition)).collect(),
        generation: 3,
        ..member(id, &["a"])
    };
    let members = [owner("m0", 0..3), owner("m1", 3..6), member("m2", &["a"])];
    assert_eq!(short(&Assignor::Sticky.assign(&members, &all)), ["a0 a1", "a3 a4", "a2 a5"]);
    // What moves is nobody's until it is let go.
    assert_eq!(short(&Assignor::CooperativeSticky.assign(&members, &all)), ["a0 a1", "a3 a4", ""]);
}

#[test]
fn claim_of_an_older_generation_gives_way_and_a_disputed_one_counts_for_neither() {
    let all = counts(&[("a", 2)]);
    let owner =
        |id: &str, generation| Member { owned: [TopicPartition::new("a", 0)].into(), generation, ..member(id, &["a"]) };
    assert_eq!(short(&Assignor::Sticky.assign(&[owner("m0", 4), owner("m1", 5)], &all)), ["a1", "a0"]);
    let shares = Assignor::Sticky.assign(&[owner("m0", 5), owner("m1", 5)], &all);
    assert_eq!(shares.iter().map(BTreeSet::len).collect::<Vec<_>>(), [1, 1]);
}

const TOPICS: [&str; 4] = ["a", "b", "c", "d"];

fn arbitrary_counts() -> impl Strategy<Value = BTreeMap<String, i32>> {
    prop::collection::btree_map(prop::sample::select(&TOPICS[..]).prop_map(str::to_owned), 0..9_i32, 1..4)
}

/// Members with claims of all kinds: of topics that are gone, of partitions others claim, of old generations.
fn arbitrary_members(equal: bool) -> impl Strategy<Value = Vec<Member>> {
    let topics = prop::collection::btree_set(prop::sample::select(&TOPICS[..]).prop_map(str::to_owned), 1..4);
    let claim = (prop::sample::select(&TOPICS[..]), 0..10_i32);
    let claims =
        prop::collection::btree_set(claim.prop_map(|(topic, number)| TopicPartition::new(topic, number)), 0..12);
    let member = (topics, claims, -1..4_i32, any::<bool>());
    prop::collection::vec(member, 1..7).prop_map(move |members| {
        let first = members[0].0.clone();
        let build = |(index, (topics, owned, generation, fixed))| Member {
            id: format!("m{index}"),
            instance_id: Some(format!("i{index}")).filter(|_| fixed),
            topics: if equal { first.clone() } else { topics },
            owned,
            generation,
        };
        members.into_iter().enumerate().map(build).collect()
    })
}

/// Every partition that somebody wants.
fn wanted(members: &[Member], counts: &BTreeMap<String, i32>) -> BTreeSet<TopicPartition> {
    let topics = counts.iter().filter(|(topic, _)| members.iter().any(|member| member.topics.contains(*topic)));
    topics.flat_map(|(topic, count)| (0..*count).map(|number| TopicPartition::new(topic.clone(), number))).collect()
}

fn check_each_once(
    assignor: Assignor,
    members: &[Member],
    counts: &BTreeMap<String, i32>,
) -> Result<Vec<BTreeSet<TopicPartition>>, TestCaseError> {
    let shares = assignor.assign(members, counts);
    prop_assert_eq!(shares.len(), members.len());
    let mut seen = BTreeSet::new();
    for (member, share) in members.iter().zip(&shares) {
        for partition in share {
            prop_assert!(member.topics.contains(&partition.topic), "{partition} was not subscribed to");
            prop_assert!(seen.insert(partition.clone()), "{partition} twice");
        }
    }
    if assignor != Assignor::CooperativeSticky {
        prop_assert_eq!(seen, wanted(members, counts));
    }
    Ok(shares)
}

proptest! {
    #[test]
    fn every_partition_is_one_members(
        counts in arbitrary_counts(), equal in arbitrary_members(true), different in arbitrary_members(false),
    ) {
        for (assignor, members) in ALL.into_iter().flat_map(|one| [(one, &equal), (one, &different)]) {
            check_each_once(assignor, members, &counts)?;
        }
    }

    #[test]
    fn shares_of_equal_subscriptions_differ_by_one_at_most(
        counts in arbitrary_counts(), members in arbitrary_members(true),
    ) {
        for assignor in [Assignor::RoundRobin, Assignor::Sticky] {
            let sizes: Vec<usize> = assignor.assign(&members, &counts).iter().map(BTreeSet::len).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{assignor:?} {sizes:?}");
        }
        for topic in counts.keys() {
            let of_topic = |share: &BTreeSet<TopicPartition>| share.iter().filter(|found| found.topic == *topic).count();
            let sizes: Vec<usize> = Assignor::Range.assign(&members, &counts).iter().map(of_topic).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "range {sizes:?}");
        }
    }

    #[test]
    fn sticky_leaves_an_even_assignment_alone(counts in arbitrary_counts(), members in arbitrary_members(false)) {
        let shares = check_each_once(Assignor::Sticky, &members, &counts)?;
        let settled: Vec<Member> = members.iter().zip(&shares)
            .map(|(member, share)| Member { owned: share.clone(), generation: 9, ..member.clone() }).collect();
        for assignor in [Assignor::Sticky, Assignor::CooperativeSticky] {
            prop_assert_eq!(&assignor.assign(&settled, &counts), &shares);
        }
    }

    #[test]
    fn sticky_keeps_all_that_an_even_assignment_can(counts in arbitrary_counts(), members in arbitrary_members(true)) {
        // Claims that nobody disputes: then the best is known.
        let shares = Assignor::RoundRobin.assign(&members, &counts);
        let mut members = members;
        let mut merged = shares.clone();
        // All but the first two hold what they were given; the first holds the second's, too.
        if merged.len() > 1 {
            let second = std::mem::take(&mut merged[1]);
            merged[0].extend(second);
        }
        for (member, owned) in members.iter_mut().zip(&merged) {
            (member.owned, member.generation) = (owned.clone(), 3);
        }
        let total = wanted(&members, &counts).len();
        let mut sizes: Vec<usize> = merged.iter().map(BTreeSet::len).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let quota = |rank: usize| total / members.len() + usize::from(rank < total % members.len());
        let best: usize = sizes.iter().enumerate().map(|(rank, size)| quota(rank).min(*size)).sum();
        let found = Assignor::Sticky.assign(&members, &counts);
        let kept: usize = found.iter().zip(&merged).map(|(share, owned)| share.intersection(owned).count()).sum();
        prop_assert_eq!(kept, best);
    }

    #[test]
    fn no_single_move_makes_a_sticky_assignment_more_even(
        counts in arbitrary_counts(), members in arbitrary_members(false),
    ) {
        let shares = Assignor::Sticky.assign(&members, &counts);
        for (from, share) in shares.iter().enumerate() {
            for (to, member) in members.iter().enumerate() {
                let movable = share.iter().any(|partition| member.topics.contains(&partition.topic));
                prop_assert!(!movable || shares[to].len() + 1 >= share.len(), "{from} to {to}");
            }
        }
    }

    #[test]
    fn cooperative_rounds_settle_and_nothing_is_held_twice_on_the_way(
        counts in arbitrary_counts(), members in arbitrary_members(false),
    ) {
        let mut members = members;
        // Held at the start: each claim by one member only, as in a running group.
        let mut held = BTreeSet::new();
        for member in &mut members {
            member.owned.retain(|claimed| held.insert(claimed.clone()));
            member.generation = 1;
        }
        for round in 2..6 {
            let shares = check_each_once(Assignor::CooperativeSticky, &members, &counts)?;
            for (index, share) in shares.iter().enumerate() {
                for partition in share {
                    let elsewhere = members.iter().enumerate()
                        .any(|(other, member)| other != index && member.owned.contains(partition));
                    prop_assert!(!elsewhere, "{partition} is given away while it is held");
                }
            }
            for (member, share) in members.iter_mut().zip(shares) {
                (member.owned, member.generation) = (share, round);
            }
        }
        let owned: BTreeSet<TopicPartition> = members.iter().flat_map(|member| member.owned.clone()).collect();
        prop_assert_eq!(owned, wanted(&members, &counts));
    }
}
