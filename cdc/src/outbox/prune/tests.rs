use pillion_test_postgres::Server;

use super::Rule;

#[tokio::test]
async fn transaction_numbers_are_compared_around_the_end_of_their_range() {
    let server = Server::start().await.unwrap();
    let client = server.connect().await.unwrap();
    let horizon_in_epoch = |epoch: i64, number: i64| (epoch << 32) + number;
    for (row, horizon, expected) in [
        (99_u32, 100, true),
        (100, 100, false),
        (101, 100, false),
        (u32::MAX, horizon_in_epoch(1, 3), true),
        (5, horizon_in_epoch(1, 3), false),
        (3, i64::from(u32::MAX), false),
        (700, horizon_in_epoch(5, 800), true),
        (900, horizon_in_epoch(5, 800), false),
        (3, 3 + (1 << 31) - 1, true),
        (3, 3 + (1 << 31), true),
        (3, 3 + (1 << 31) + 1, false),
    ] {
        let rule = Rule { cutoff: String::new(), horizon };
        let query = format!("select {} from (values ('{row}'::xid)) as t (xmin)", rule.precedes());
        let precedes: bool = client.query_one(&query, &[]).await.unwrap().get(0);
        assert_eq!(precedes, expected, "{row} before {horizon}");
    }
}
