//! What members cost in memory, counted in bytes asked of the allocator.

use std::sync::Arc;

use allocation_counter::measure;
use bytes::{Bytes, BytesMut};
use pillion_wire::codec::encode_versioned;
use pillion_wire::messages::ConsumerProtocolSubscription;

use super::super::event::{MemberProtocol, Sync};
use super::super::record::{GroupMetadata, GroupRecord};
use super::super::record_codec;
use super::super::shard::GroupShard;
use super::harness::Harness;

const MEMBERS: usize = 1_000;
/// Many times what a member may cost, so that one that keeps a request's frame is found out.
const FRAME_BYTES: usize = 16 * 1024;

/// The generation each member says it comes from: what tells apart the offers of members that have been in a group before.
type GenerationOf = fn(usize) -> i32;

/// The bytes as a piece of a far larger frame.
fn in_a_frame(bytes: &[u8]) -> Bytes {
    let mut frame = BytesMut::zeroed(FRAME_BYTES);
    frame[..bytes.len()].copy_from_slice(bytes);
    frame.freeze().slice(..bytes.len())
}

fn offers(generation: i32) -> Vec<MemberProtocol> {
    let subscription = ConsumerProtocolSubscription {
        topics: vec!["outbox.event.order".to_owned()],
        generation_id: generation,
        ..ConsumerProtocolSubscription::default()
    };
    let metadata = encode_versioned(&subscription, 2).unwrap();
    ["range", "cooperative-sticky"]
        .map(|name| MemberProtocol { name: Arc::from(name), metadata: in_a_frame(&metadata) })
        .into()
}

/// A stable group of members that each have a share, as clients of one service make it.
fn stable_group(harness: &mut Harness, generation_of: GenerationOf) {
    let mut leader: Option<Arc<str>> = None;
    let mut member_ids = Vec::new();
    // The first member has its generation at once; the others join the next one, which begins as it joins again.
    for member in (0..MEMBERS).chain([0]) {
        let mut join = harness.join_request(member_ids.get(member).map_or("", |id: &Arc<str>| id));
        join.client_id = Arc::from("order-service");
        join.protocols = offers(generation_of(member));
        if member_ids.len() <= member {
            let waiter = harness.join(join.clone());
            let member_id = harness.join_answer(waiter).unwrap().member_id;
            join.member_id = Arc::clone(&member_id);
            join.waiter = harness.waiter();
            member_ids.push(member_id);
        }
        let waiter = harness.join(join);
        if let Some(joined) = harness.join_answer(waiter) {
            leader = Some(joined.leader);
        }
    }
    let leader = leader.expect("all have joined");
    let mut sync = Sync {
        waiter: harness.waiter(),
        member_id: leader,
        group_instance_id: None,
        generation: 2,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
    };
    let share = b"\0\0\0\0\0\x01\0\x12outbox.event.order\0\0\0\x01\0\0\0\x07\xff\xff\xff\xff";
    sync.assignments = member_ids.iter().map(|id| (id.to_string(), in_a_frame(share))).collect();
    harness.sync_with(sync);
    for member_id in &member_ids {
        let waiter = harness.sync(member_id, 2, &[]);
        assert_eq!(harness.sync_answer(waiter).expect("the group is stable").assignment, share[..]);
    }
}

/// Bytes that are free again once the shard is gone, for each member.
fn bytes_each(generation_of: GenerationOf) -> u64 {
    let mut harness = Harness::new();
    stable_group(&mut harness, generation_of);
    let limits = Arc::clone(&harness.limits);
    let shard = std::mem::replace(&mut harness.shard, GroupShard::new(limits));
    // What it has answered and written counts only as far as it keeps it itself.
    drop(harness);
    let freed = measure(|| drop(shard));
    (-freed.bytes_current).cast_unsigned() / MEMBERS as u64
}

#[test]
fn a_member_of_a_large_group_costs_little_where_all_offer_the_same() {
    let bytes = bytes_each(|_| -1);
    assert!(bytes < 448, "{bytes} bytes for each member");
}

#[test]
fn a_member_of_a_large_group_costs_little_where_each_offers_something_else() {
    let bytes = bytes_each(|member| i32::try_from(member).unwrap());
    assert!(bytes < 704, "{bytes} bytes for each member");
}

#[test]
fn writing_a_large_group_down_takes_little_more_memory_than_what_is_written() {
    let mut harness = Harness::new();
    stable_group(&mut harness, |_| -1);
    let record = harness.log.pop().expect("the generation is written");
    assert!(matches!(&record, GroupRecord::Metadata { metadata: Some(GroupMetadata { members, .. }), .. }
        if members.len() == MEMBERS));
    let mut written = 0;
    let memory = measure(|| written = record_codec::encode(&record).unwrap().value.unwrap().len() as u64);
    assert!(memory.bytes_max < written * 9 / 8, "{} bytes at once for a record of {written}", memory.bytes_max);
}
