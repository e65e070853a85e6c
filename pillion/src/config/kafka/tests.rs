use super::*;

/// What Kafka 4's own `config/server.properties` says, its comments aside.
const KAFKAS_OWN: &str = "\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
";

#[test]
fn kafkas_own_file_is_taken_without_its_controller() {
    let file = read(KAFKAS_OWN);
    assert_eq!(file.problems, Vec::<String>::new());
    let setting = |key: &str| file.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    assert_eq!(setting("listeners"), Some("PLAINTEXT://:9092"));
    assert_eq!(setting("advertised.listeners"), Some("PLAINTEXT://localhost:9092"));
    assert_eq!((setting("log.dirs"), setting("node.id")), (Some("/tmp/kraft-combined-logs"), Some("1")));
    assert_eq!(setting("log.segment.bytes"), Some("1073741824"));
    assert!(file.settings.iter().all(|(key, _)| keys::find(key).is_some()), "{:?}", file.settings);
    let [warning] = file.warnings.as_slice() else { panic!("{:?}", file.warnings) };
    assert!(warning.contains("num.io.threads") && warning.contains("controller.quorum.bootstrap.servers"), "{warning}");
}

#[test]
fn the_older_names_of_two_keys_are_taken() {
    let file = read("process.roles=broker\nbroker.id=7\nlog.dir=/d\n");
    assert_eq!(file.settings, [("node.id", "7"), ("log.dirs", "/d")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    let file = read("process.roles=broker\nbroker.id=7\nnode.id=8\n");
    assert_eq!(file.settings, [("node.id".to_owned(), "8".to_owned())]);
}

#[test]
fn what_would_promise_more_than_pillion_keeps_is_refused_with_the_reason() {
    for (line, word) in [
        ("ssl.keystore.location=/k", "plain text"),
        ("sasl.enabled.mechanisms=PLAIN", "plain text"),
        ("listener.name.internal.ssl.keystore.location=/k", "plain text"),
        ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "authorizer"),
        ("super.users=User:admin", "authorizer"),
        ("create.topic.policy.class.name=a.B", "plug-ins"),
        ("remote.log.storage.system.enable=true", "tiered"),
        ("zookeeper.connect=z:2181", "KRaft"),
        ("process.roles=controller", "controller"),
        ("security.inter.broker.protocol=SSL", "plain text"),
        ("listeners=INTERNAL://:9092\nlistener.security.protocol.map=INTERNAL:SASL_SSL", "plain text"),
    ] {
        let problems = read(&format!("process.roles=broker\n{line}\n")).problems;
        assert!(problems.len() == 1 && problems[0].contains(word), "{line}: {problems:?}");
    }
}

#[test]
fn a_key_that_kafka_does_not_have_either_is_left_to_be_refused() {
    let file = read("process.roles=broker\nnum.partitons=3\nremote.log.storage.system.enable=false\n");
    assert_eq!(file.settings, [("num.partitons".to_owned(), "3".to_owned())]);
    assert!(keys::find("num.partitons").is_none());
}
