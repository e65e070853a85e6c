use bytes::Bytes;

use super::subscribed_topics;

/// Version 1, topics `orders` and `stock`, no user data, no owned partitions.
const SUBSCRIPTION: &[u8] = b"\x00\x01\x00\x00\x00\x02\x00\x06orders\x00\x05stock\xff\xff\xff\xff\x00\x00\x00\x00";

#[test]
fn topics_are_read_from_any_version() {
    for version in [0, 1, 3, 99] {
        let mut bytes = SUBSCRIPTION.to_vec();
        bytes[1] = version;
        assert_eq!(subscribed_topics(&Bytes::from(bytes)), Some(vec!["orders".to_owned(), "stock".to_owned()]));
    }
}

#[test]
fn a_subscription_that_ends_early_is_none() {
    let end_of_user_data = SUBSCRIPTION.len() - 4;
    for length in 0..end_of_user_data {
        assert_eq!(subscribed_topics(&Bytes::from_static(&SUBSCRIPTION[..length])), None, "cut at {length}");
    }
}
