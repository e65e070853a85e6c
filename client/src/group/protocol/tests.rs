use std::collections::BTreeSet;

use bytes::Bytes;
use proptest::prelude::*;

use super::{Subscription, decode_assignment, decode_member, encode_assignment, encode_subscription};
use crate::group::assignor::{Assignor, TopicPartition};

const ALL: [Assignor; 4] = [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

fn partitions(names: &[(&str, i32)]) -> BTreeSet<TopicPartition> {
    names.iter().map(|(topic, partition)| TopicPartition::new(*topic, *partition)).collect()
}

fn subscription() -> Subscription {
    Subscription {
        topics: vec!["a".to_owned(), "b".to_owned()],
        owned: partitions(&[("a", 1)]),
        last: partitions(&[("a", 1), ("b", 0), ("b", 2)]),
        generation: 7,
    }
}

#[test]
fn bytes_are_those_of_the_java_client() {
    // ConsumerProtocol.serializeSubscription in kafka-clients 4.4: version 3, topics, no user data, owned, generation,
    // no rack.
    let expected = [
        &[0, 3, 0, 0, 0, 2, 0, 1, b'a', 0, 1, b'b', 0xff, 0xff, 0xff, 0xff][..],
        &[0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff],
    ];
    assert_eq!(encode_subscription(Assignor::Range, &subscription()).unwrap(), expected.concat());
    // CooperativeStickyAssignor.subscriptionUserData: the generation.
    let cooperative = encode_subscription(Assignor::CooperativeSticky, &subscription()).unwrap();
    assert_eq!(cooperative[12..20], [0, 0, 0, 4, 0, 0, 0, 7]);
    let assignment = encode_assignment(&partitions(&[("a", 1), ("a", 3)])).unwrap();
    let body = [0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(assignment, [&[0, 0][..], &body].concat());
}

#[test]
fn member_is_read_back_as_each_assignor_knows_it() {
    for assignor in ALL {
        let bytes = encode_subscription(assignor, &subscription()).unwrap();
        let member = decode_member(assignor, ("m", Some("i")), &bytes).unwrap();
        let owned = if assignor == Assignor::Sticky { subscription().last } else { subscription().owned };
        assert_eq!((member.id.as_str(), member.instance_id.as_deref()), ("m", Some("i")));
        assert_eq!((member.owned, member.generation), (owned, 7), "{assignor:?}");
        assert_eq!(member.topics.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}

#[test]
fn subscription_of_an_older_client_and_of_a_newer_one_are_read() {
    let oldest = Bytes::from_static(&[0, 0, 0, 0, 0, 1, 0, 1, b'a', 0xff, 0xff, 0xff, 0xff]);
    let member = decode_member(Assignor::CooperativeSticky, ("m", None), &oldest).unwrap();
    assert_eq!((member.owned.len(), member.generation), (0, -1));
    let mut newer = encode_subscription(Assignor::Range, &subscription()).unwrap().to_vec();
    newer[1] = 9;
    newer.extend(b"fields of the future");
    assert_eq!(decode_member(Assignor::Range, ("m", None), &newer.into()).unwrap().generation, 7);
}

#[test]
fn no_bytes_are_no_assignment() {
    assert!(decode_assignment(&Bytes::new()).unwrap().is_empty());
    let some = partitions(&[("a", 1), ("b", 0), ("b", 2)]);
    assert_eq!(decode_assignment(&encode_assignment(&some).unwrap()).unwrap(), some);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let bytes = Bytes::from(bytes);
        let _ = decode_assignment(&bytes);
        for assignor in ALL {
            let _ = decode_member(assignor, ("m", None), &bytes);
            // Opaque bytes behind a good beginning.
            let mut behind = vec![0, 1, 0, 0, 0, 0];
            behind.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
            behind.extend_from_slice(&bytes);
            behind.extend_from_slice(&[0; 4]);
            prop_assert!(decode_member(assignor, ("m", None), &behind.into()).is_ok());
        }
    }
}
