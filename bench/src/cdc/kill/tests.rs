use super::*;

#[test]
fn repeats_and_steps_back_within_a_key_are_counted() {
    let mut seen = Seen::default();
    for (key, number) in [("a", 1), ("b", 2), ("a", 4), ("b", 3), ("a", 1), ("a", 4), ("a", 5)] {
        seen.add(Event { key: Bytes::from_static(key.as_bytes()), number });
    }
    assert_eq!((seen.numbers.len(), seen.repeated, seen.steps_back), (5, 2, 1));
}
