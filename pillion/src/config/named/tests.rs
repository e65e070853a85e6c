use super::*;

#[test]
fn a_variable_names_the_connector_and_the_longest_key_that_fits() {
    for (variable_name, connector, key) in [
        ("PILLION_CONNECTOR_ORDERS_SLOT_NAME", "orders", "slot.name"),
        ("PILLION_CONNECTOR_OLD_ORDERS_TABLE_INCLUDE_LIST", "old_orders", "table.include.list"),
        ("PILLION_CONNECTOR_ORDERS_POSTGRES_URL", "orders", "postgres.url"),
        ("PILLION_CONNECTOR_ORDERS_POSTGRES", "orders", "postgres.url"),
        ("PILLION_CONNECTOR_A_TABLE", "a", "table.include.list"),
    ] {
        assert_eq!(variable(variable_name), Some((connector.to_owned(), key)), "{variable_name}");
    }
    for unknown in
        ["PILLION_CONNECTOR_SLOT_NAME", "PILLION_CONNECTOR_ORDERS_NUM_PARTITIONS", "PILLION_CONNECTOR_ORDERS"]
    {
        assert_eq!(variable(unknown), None, "{unknown}");
    }
}

#[test]
fn names_are_what_a_slots_name_can_end_in() {
    for good in ["a", "orders_2", &"x".repeat(NAME_LENGTH_MAX)] {
        assert!(is_name(good), "{good}");
    }
    for bad in ["", "Orders", "order-s", "ö", &"x".repeat(NAME_LENGTH_MAX + 1)] {
        assert!(!is_name(bad), "{bad}");
    }
}
