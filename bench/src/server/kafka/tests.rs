use super::*;

#[test]
fn only_a_synced_kafka_flushes_each_batch() {
    let of = |durability| settings(Path::new("/data"), [1, 2], durability, &[("a.setting", "7")]);
    assert!(of(Durability::Synced).contains("\nlog.flush.interval.messages=1\n"));
    assert!(!of(Durability::Written).contains("flush"));
    assert!(of(Durability::Written).contains("\nlog.dirs=/data\n"));
    assert!(of(Durability::Written).contains("\nlisteners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n"));
    assert!(of(Durability::Written).ends_with("\na.setting=7\n"));
}
