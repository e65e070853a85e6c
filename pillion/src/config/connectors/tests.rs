use super::super::problem::ConfigurationError;
use super::super::{Configuration, Layers, Parts};

const CONNECTOR: Parts = Parts { broker: false, connector: true };

fn layers(assignments: &[&str]) -> Layers {
    let mut layers = Layers::default();
    for assignment in assignments {
        layers.add_set(assignment, &CONNECTOR.list());
    }
    layers
}

fn read(assignments: &[&str]) -> Result<Configuration, ConfigurationError> {
    Configuration::read(layers(assignments), CONNECTOR)
}

fn problems(assignments: &[&str]) -> Vec<String> {
    read(assignments).unwrap_err().problems
}

const ORDERS: &str = "connector.orders.postgres.url=postgresql://shop@db/orders";
const PAYMENTS: &str = "connector.payments.postgres.url=postgresql://shop@db/payments";

#[test]
fn each_name_makes_a_connector_that_inherits_the_plain_keys_and_has_its_own_slot() {
    let configuration = read(&[
        ORDERS,
        PAYMENTS,
        "connector.orders.table.include.list=orders.outbox",
        "connector.payments.on.error=stop",
        "connector.payments.bootstrap.servers=kafka:2",
        "on.error=skip",
        "slot.name=plain",
        "table.include.list=public.events",
    ])
    .unwrap();
    assert!(configuration.connector.is_none(), "the plain keys name no database");
    let [orders, payments] = &configuration.named_connectors[..] else { panic!("two connectors") };
    assert_eq!((orders.name.as_str(), payments.name.as_str()), ("orders", "payments"));
    assert_eq!(orders.config.postgres.to_string(), "postgresql://shop@db:5432/orders");
    let texts = |config: &pillion_cdc::ConnectorConfig| {
        (config.slot.clone(), config.publication.clone(), config.client_id.clone(), config.tables[0].to_string())
    };
    let expected = ("pillion_orders", "pillion_outbox_orders", "pillion-cdc-orders", "orders.outbox");
    assert_eq!(texts(&orders.config), (expected.0.into(), expected.1.into(), expected.2.into(), expected.3.into()));
    assert_eq!(texts(&payments.config).3, "public.events");
    assert_eq!(orders.config.on_error, pillion_cdc::OnError::Skip);
    assert_eq!(payments.config.on_error, pillion_cdc::OnError::Stop);
    assert_eq!((orders.is_bootstrap_given, payments.is_bootstrap_given), (false, true));
}

#[test]
fn plain_keys_that_name_a_database_make_a_connector_beside_the_named_ones() {
    let configuration = read(&["postgres.url=postgresql://shop@db/shop", "connector.orders.slot.name=orders"]).unwrap();
    assert_eq!(configuration.connector.unwrap().slot, "pillion");
    let orders = &configuration.named_connectors[0].config;
    assert_eq!(
        (orders.slot.as_str(), orders.postgres.to_string().as_str()),
        ("orders", "postgresql://shop@db:5432/shop")
    );
}

#[test]
fn an_address_in_parts_is_inherited_part_by_part_and_replaced_as_a_whole() {
    let parts = ["database.hostname=db", "database.user=shop", "connector.orders.database.dbname=orders", PAYMENTS];
    let configuration = read(&parts).unwrap();
    assert!(configuration.connector.is_none(), "a host alone is there to be inherited");
    let urls: Vec<String> = configuration.named_connectors.iter().map(|one| one.config.postgres.to_string()).collect();
    assert_eq!(urls, ["postgresql://shop@db:5432/orders", "postgresql://shop@db:5432/payments"]);
}

#[test]
fn a_table_of_the_file_makes_a_connector_even_if_it_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pillion.toml");
    std::fs::write(
        &path,
        "postgres.url = \"postgresql://shop@db/shop\"\n[connector.orders]\n[connector.b]\nslot.name = \"x\"\n",
    )
    .unwrap();
    let mut layers = Layers::default();
    layers.add_file(&path);
    layers.add_environment([("PILLION_CONNECTOR_ORDERS_ON_ERROR".to_owned(), "skip".to_owned())].into_iter());
    let configuration = Configuration::read(layers, CONNECTOR).unwrap();
    let slots: Vec<&str> = configuration.named_connectors.iter().map(|one| one.config.slot.as_str()).collect();
    assert_eq!(slots, ["x", "pillion_orders"]);
    assert_eq!(configuration.named_connectors[1].config.on_error, pillion_cdc::OnError::Skip);
}

#[test]
fn two_connectors_may_not_have_one_slot_of_a_server() {
    let found = problems(&[ORDERS, PAYMENTS, "connector.payments.slot.name=pillion_orders"]);
    assert_eq!(
        found,
        [
            "connector payments: slot pillion_orders of db:5432 is taken by the connector orders; give one of them another slot.name"
        ]
    );
    read(&[
        ORDERS,
        "connector.b.postgres.url=postgresql://shop@db:5433/orders",
        "connector.b.slot.name=pillion_orders",
    ])
    .unwrap();
}

#[test]
fn problems_name_the_connector_and_inherited_ones_are_said_once() {
    let found = problems(&[
        ORDERS,
        PAYMENTS,
        "on.error=shrug",
        "max.row.bytes=1",
        "connector.orders.delivery=perhaps",
        "connector.orders.max.bytes.in.flight=1",
        "connector.lost.slot.name=lost",
    ]);
    let expected = [
        "on.error (--set on.error): ",
        "max.row.bytes = `1`",
        "connector lost: no database is given",
        "connector orders: delivery (--set connector.orders.delivery): ",
        "connector orders: max.bytes.in.flight = `1`",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (problem, part) in found.iter().zip(expected) {
        assert!(problem.starts_with(part), "{part} in {found:?}");
    }
}

#[test]
fn keys_and_names_that_cannot_be_are_refused() {
    for (assignment, part) in [
        ("connector.Orders.slot.name=a", "cannot name a connector"),
        ("connector.orders.slot.nam=a", "did you mean slot.name?"),
        ("connector.orders.num.partitions=3", "this is for the broker"),
        ("connector.orders=3", "unknown key"),
    ] {
        let mut layers = layers(&[ORDERS]);
        layers.add_set(assignment, &Parts { broker: true, connector: true }.list());
        let found = Configuration::read(layers, CONNECTOR).unwrap_err().problems;
        assert!(found.len() == 1 && found[0].contains(part), "{part} in {found:?}");
    }
}

#[test]
fn one_connector_can_be_picked_and_takes_flags_like_a_plain_one() {
    let mut layers_of_both = layers(&[ORDERS, PAYMENTS]);
    layers_of_both.select("orders");
    layers_of_both.add_flag("--slot", super::keys::SLOT_NAME, "mine".to_owned());
    let configuration = Configuration::read(layers_of_both, CONNECTOR).unwrap();
    assert!(configuration.named_connectors.is_empty());
    let connector = configuration.connector.unwrap();
    assert_eq!((connector.slot.as_str(), connector.postgres.database()), ("mine", "orders"));
    assert_eq!(connector.publication, "pillion_outbox_orders");

    let mut layers = layers(&[ORDERS, PAYMENTS]);
    layers.select("stock");
    let error = Configuration::read(layers, CONNECTOR).unwrap_err().to_string();
    assert!(error.contains("--connector stock: no connector has this name; there are orders, payments"), "{error}");
}
