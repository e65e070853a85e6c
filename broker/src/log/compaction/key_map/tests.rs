use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_map_answers_as_a_plain_one_and_stays_in_its_budget(
        keys in prop::collection::vec(0_u16..4000, 1..6000),
        budget in 0_usize..200_000,
        hash_key: [u64; 2],
    ) {
        let mut map = KeyMap::new(budget, hash_key);
        let mut model = HashMap::new();
        for (offset, key) in keys.iter().enumerate() {
            let put = map.put(&key.to_be_bytes(), offset as i64);
            if put.is_ok() {
                model.insert(*key, offset as i64);
            } else {
                prop_assert!(!model.contains_key(key), "a key that is in the map is always updated");
                prop_assert!(model.len() * 10 >= map.slots_max * 9 - 9);
            }
            prop_assert!(map.bytes() <= budget.max(2 * SLOT_BYTES));
        }
        prop_assert_eq!(map.keys(), model.len());
        for key in 0_u16..4000 {
            prop_assert_eq!(map.get(&key.to_be_bytes()), model.get(&key).copied());
        }
    }
}

#[test]
fn doubling_in_place_loses_no_key_whatever_wraps_around() {
    // Small tables wrap often: 2 slots grow to 4096 under several thousand hash keys.
    for seed in 0..500 {
        let mut map = KeyMap { slots: vec![Slot::default(); 2], used: 0, slots_max: 4096, hash_key: [seed, 1] };
        for key in 0_u32..400 {
            map.put(&key.to_be_bytes(), i64::from(key)).unwrap();
        }
        for key in 0_u32..400 {
            assert_eq!(map.get(&key.to_be_bytes()), Some(i64::from(key)), "seed {seed}");
        }
        assert_eq!(map.get(b"other"), None);
    }
}

#[test]
fn a_full_map_takes_nine_tenths_of_its_slots() {
    let mut map = KeyMap::new(4 << 20, [3, 4]);
    assert!(map.bytes() < 32 << 10, "a map begins small");
    let taken = (0_u64..).take_while(|key| map.put(&key.to_be_bytes(), 7).is_ok()).count();
    assert_eq!(taken, 131_072 * 9 / 10);
    assert_eq!(map.put(b"another", 8), Err(Full));
    assert_eq!(map.put(&0_u64.to_be_bytes(), 9), Ok(()));
    assert_eq!(map.get(&0_u64.to_be_bytes()), Some(9));
}

#[test]
fn the_least_budget_holds_a_key() {
    let mut map = KeyMap::new(0, [0, 0]);
    assert_eq!(map.put(b"", 0), Ok(()));
    assert_eq!((map.get(b""), map.put(b"a", 1)), (Some(0), Err(Full)));
}
