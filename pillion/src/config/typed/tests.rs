use super::*;

const BROKER: Parts = Parts { broker: true, connector: false };
const CONNECTOR: Parts = Parts { broker: false, connector: true };

fn read(assignments: &[&str], parts: Parts) -> Result<Configuration, ConfigurationError> {
    let mut layers = Layers::default();
    for assignment in assignments {
        layers.add_set(assignment, &[Part::Broker, Part::Connector]);
    }
    Configuration::read(layers, parts)
}

#[test]
fn without_settings_the_broker_is_reachable_from_this_machine_only() {
    let broker = read(&[], BROKER).unwrap().broker.unwrap();
    assert_eq!(broker.listeners.len(), 1);
    assert_eq!(broker.listeners[0].bind, "127.0.0.1:9092");
    assert_eq!(broker.data_directory, PathBuf::from("pillion-data"));
}

#[test]
fn settings_reach_the_broker_and_the_connector() {
    let both = Parts { broker: true, connector: true };
    let url = "postgres.url=postgresql://shop:secret@db:5433/orders";
    let given =
        ["num.partitions=3", "log.dirs=/data", url, "slot.name=other", "table.include.list=a.o,b.o", "auto.init=true"];
    let configuration = read(&given, both).unwrap();
    let broker = configuration.broker.unwrap();
    assert_eq!((broker.default_partitions, broker.data_directory), (3, PathBuf::from("/data")));
    let connector = configuration.connector.unwrap();
    assert_eq!(connector.postgres.to_string(), "postgresql://shop@db:5433/orders");
    assert_eq!((connector.slot.as_str(), connector.tables.len(), connector.auto_init), ("other", 2, true));
    assert!(!configuration.is_bootstrap_given);
}

#[test]
fn keys_of_a_part_that_does_not_run_are_left_alone() {
    read(&["slot.name=Not A Slot", "num.partitions=3"], BROKER).unwrap();
}

#[test]
fn debeziums_keys_name_the_database_too() {
    let given = ["database.hostname=db", "database.user=shop", "database.password=it's \\", "database.dbname=orders"];
    let connector = read(&given, CONNECTOR).unwrap().connector.unwrap();
    assert_eq!(connector.postgres.to_string(), "postgresql://shop@db:5432/orders");

    let both = ["database.hostname=db", "postgres.url=postgresql://shop@db/orders"];
    let error = read(&both, CONNECTOR).unwrap_err().to_string();
    assert!(error.contains("give one of them"), "{error}");
}

#[test]
fn every_problem_is_shown_at_once_with_its_origin_and_no_password() {
    let both = Parts { broker: true, connector: true };
    let given = [
        "num.partitions=many",
        "listeners=SSL://localhost:1",
        "postgres.url=postgresql://shop:hunter2@db/orders",
        "on.error=shrug",
        "auto.init=perhaps",
        "slot.name=Not A Slot",
    ];
    let error = read(&given, both).unwrap_err();
    assert_eq!(error.problems.len(), 5, "{error}");
    let text = error.to_string();
    assert!(text.starts_with("the configuration cannot be used, 5 problems:\n  - "), "{text}");
    assert!(text.contains("(--set num.partitions)") && text.contains("(--set on.error)"), "{text}");

    let error = read(&["postgres.url=postgresql://:hunter2@/"], CONNECTOR).unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_connector_without_a_database_says_how_to_give_one() {
    let error = read(&[], CONNECTOR).unwrap_err().to_string();
    assert!(error.contains("--postgres postgresql://"), "{error}");
}
