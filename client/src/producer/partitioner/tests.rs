use super::{Sticky, murmur2, partition_of_key};

/// Results of `org.apache.kafka.common.utils.Utils.murmur2`, from Kafka's own tests.
#[test]
fn murmur2_equals_the_java_client() {
    let known: [(&[u8], i32); 6] = [
        (b"21", -973_932_308),
        (b"foobar", -790_332_482),
        (b"a-little-bit-long-string", -985_981_536),
        (b"a-little-bit-longer-string", -1_486_304_829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        (b"abc", 479_470_107),
    ];
    for (key, hash) in known {
        assert_eq!(murmur2(key), hash, "{}", String::from_utf8_lossy(key));
    }
}

#[test]
fn key_partition_drops_the_sign_before_the_remainder() {
    assert_eq!(partition_of_key(b"21", 10), (-973_932_308 & i32::MAX) % 10);
    assert!((0..1_000_i32).all(|key| (0..7).contains(&partition_of_key(&key.to_be_bytes(), 7))));
}

#[test]
fn sticky_partition_stays_while_its_batch_is_open_and_then_moves_through_all() {
    let mut sticky = Sticky::default();
    let first = sticky.choose(3, |_| false);
    assert_eq!(sticky.choose(3, |partition| partition == first), first);
    let moved = [sticky.choose(3, |_| false), sticky.choose(3, |_| false), sticky.choose(3, |_| false)];
    assert_eq!(moved, [(first + 1) % 3, (first + 2) % 3, first]);
}
