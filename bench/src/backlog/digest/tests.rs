use super::*;

fn of(batches: &[u32]) -> Digest {
    let mut digest = Digest::default();
    batches.iter().for_each(|checksum| digest.add(10, 1_000, *checksum));
    digest
}

#[test]
fn loss_repetition_alteration_and_order_all_change_a_digest() {
    let whole = of(&[1, 2, 3]);
    for other in [&[1, 2][..], &[1, 3], &[1, 2, 3, 3], &[1, 2, 4], &[2, 1, 3], &[0, 1, 2, 3], &[]] {
        assert_ne!(of(other), whole, "{other:?}");
        assert!(compare(&[of(&[9]), whole], &[of(&[9]), of(other)]).is_err(), "{other:?}");
    }
    compare(&[whole, of(&[7])], &[of(&[1, 2, 3]), of(&[7])]).unwrap();
    assert!(compare(&[whole, whole], &[whole]).is_err());
}

#[test]
fn a_difference_names_its_partition() {
    let error = compare(&[of(&[1]), of(&[2])], &[of(&[1]), of(&[3])]).unwrap_err().to_string();
    assert!(error.contains("partition 1") && !error.contains("partition 0"), "{error}");
}
