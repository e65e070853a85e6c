use super::*;

fn members(owned: &[&[i32]]) -> Vec<Share> {
    owned.iter().enumerate().map(|(number, owned)| (format!("m{number}"), owned.to_vec())).collect()
}

fn shared(partitions: i32, owned: &[&[i32]], withhold: bool) -> Vec<Vec<i32>> {
    share_out(partitions, members(owned), withhold).into_iter().map(|(_, share)| share).collect()
}

#[test]
fn members_that_hold_nothing_get_equal_shares() {
    assert_eq!(shared(5, &[&[], &[]], false), [vec![0, 1, 2], vec![3, 4]]);
    assert_eq!(shared(2, &[&[], &[], &[]], true), [vec![0], vec![1], vec![]]);
    assert_eq!(shared(3, &[], false), Vec::<Vec<i32>>::new());
}

#[test]
fn what_another_member_holds_is_withheld_for_one_generation() {
    let first = shared(6, &[&[0, 1, 2], &[3, 4, 5], &[]], true);
    assert_eq!(first, [vec![0, 1], vec![3, 4], vec![]]);
    let owned: Vec<&[i32]> = first.iter().map(Vec::as_slice).collect();
    assert_eq!(shared(6, &owned, true), [vec![0, 1], vec![3, 4], vec![2, 5]]);
}

#[test]
fn an_extra_partition_stays_where_it_is() {
    assert_eq!(shared(5, &[&[0, 1], &[2, 3, 4]], true), [vec![0, 1], vec![2, 3, 4]]);
}

#[test]
fn every_partition_has_one_owner_after_two_generations_whatever_members_claim() {
    let claims: [&[&[i32]]; 4] = [&[&[0, 1, 9], &[1, 2]], &[&[0, 0, 0], &[]], &[&[], &[3, 2, 1, 0], &[]], &[&[-1, 7]]];
    for claims in claims {
        let first = shared(4, claims, true);
        let owned: Vec<&[i32]> = first.iter().map(Vec::as_slice).collect();
        let second = shared(4, &owned, true);
        let mut all: Vec<i32> = second.iter().flatten().copied().collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3], "{claims:?} became {first:?}, then {second:?}");
        let sizes = second.iter().map(Vec::len);
        assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{second:?}");
    }
}
