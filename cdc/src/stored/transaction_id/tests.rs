use super::*;

const EPOCH: u64 = 1 << 32;

#[test]
fn upper_bits_are_those_of_the_last_transaction_with_these_lower_ones() {
    assert_eq!(full(1000, 999), 999);
    assert_eq!(full(1000, 3), 3);
    // Before and beyond the wraparound.
    assert_eq!(full(5 * EPOCH + 10, 9), 5 * EPOCH + 9);
    assert_eq!(full(5 * EPOCH + 10, 10), 4 * EPOCH + 10, "the next id itself has written nothing yet");
    assert_eq!(full(5 * EPOCH + 10, u32::MAX), 5 * EPOCH - 1);
    assert_eq!(full(5 * EPOCH, u32::MAX), 5 * EPOCH - 1);
    assert_eq!(full(5 * EPOCH + 3, 3), 4 * EPOCH + 3);
}

#[test]
fn rows_frozen_by_an_older_server_and_those_of_a_lost_epoch_are_older_than_all_others() {
    for permanent in 0..FIRST_NORMAL {
        assert_eq!(full(5 * EPOCH, permanent), 0);
    }
    assert_eq!(full(1000, 2000), 0);
}

#[test]
fn a_frozen_row_that_kept_its_xmin_stays_old_until_the_ids_come_round_again() {
    let written = 2 * EPOCH + 500;
    for later in [1, EPOCH / 2, EPOCH / 2 + 1, EPOCH] {
        assert_eq!(full(written + later, 500), written, "{later} transactions later");
    }
    assert_eq!(full(written + EPOCH + 1, 500), written + EPOCH, "and from then on it cannot be told");
}

#[test]
fn a_snapshot_is_read() {
    assert_eq!(parse_snapshot("10:20:10,14,15").unwrap(), (10, 20));
    assert_eq!(parse_snapshot("7:7:").unwrap(), (7, 7));
    for wrong in ["", "7", "a:b:", "8:7:", "-1:7:"] {
        assert!(parse_snapshot(wrong).is_err(), "{wrong}");
    }
}
