use super::*;

fn agreed() -> Hour {
    let of = |sum| Aggregate { count: 2, sum, fingerprint: format!("{}", sum * 31) };
    Hour {
        under_way: 0,
        ordered_money: of(500),
        charged: of(500),
        shown_money: of(500),
        ordered_stock: of(3),
        reserved: of(3),
        shown_stock: of(3),
        cancelled: of(0),
        shown_cancelled: of(0),
    }
}

#[test]
fn an_hour_without_a_difference_is_not_looked_into() {
    assert!(agreed().is_agreed());
    assert!(Hour::default().is_agreed());
}

#[test]
fn any_difference_of_any_service_is_looked_into() {
    let differs = |change: fn(&mut Hour)| {
        let mut hour = agreed();
        change(&mut hour);
        assert!(!hour.is_agreed(), "{hour:?}");
    };
    differs(|hour| hour.under_way = 1);
    differs(|hour| hour.charged.count -= 1);
    differs(|hour| hour.charged.sum += 1);
    differs(|hour| hour.shown_money.sum += 1);
    differs(|hour| hour.reserved.sum -= 1);
    differs(|hour| hour.shown_stock.count += 1);
    differs(|hour| hour.shown_cancelled.count += 1);
    // As many, as much, but not the same ones.
    differs(|hour| hour.charged.fingerprint.push('0'));
}
