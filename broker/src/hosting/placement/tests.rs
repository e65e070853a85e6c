use super::partition_of;

#[test]
fn groups_land_where_kafka_puts_them() {
    // Computed with Java's String.hashCode.
    for (group_id, partition) in [
        ("KafkaConsumerDemo", 35),
        ("", 0),
        ("my-group", 12),
        ("console-consumer-12345", 6),
        ("payment", 38),
        ("inventory", 10),
        ("order", 0),
        ("größe-☕", 9),
        ("emoji-😀-group", 22),
    ] {
        assert_eq!(partition_of(group_id, 50), partition, "{group_id}");
    }
}

#[test]
fn the_hash_without_an_absolute_value_lands_in_partition_zero() {
    // This string's hash is -2147483648.
    assert_eq!(partition_of("polygenelubricants", 50), 0);
}

#[test]
fn the_partition_count_of_the_topic_decides() {
    assert_eq!(partition_of("KafkaConsumerDemo", 1), 0);
    assert_eq!(partition_of("my-group", 7), 1_906_497_762 % 7);
}
