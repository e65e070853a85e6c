use super::super::layers::Origin;
use super::*;

fn setting(value: &str) -> Setting {
    Setting { value: value.to_owned(), origin: Origin::Flag("--listen".to_owned()) }
}

fn read_as(listeners: &str, advertised: Option<&str>, host_name: Option<&str>) -> Result<Listeners, Vec<String>> {
    read(&setting(listeners), advertised.map(setting).as_ref(), || host_name.map(str::to_owned))
}

fn config(name: &str, bind: &str, advertised: Option<&str>) -> ListenerConfig {
    ListenerConfig { name: name.to_owned(), bind: bind.to_owned(), advertised: advertised.map(str::to_owned) }
}

#[test]
fn each_listener_has_its_own_advertised_address() {
    let read = read_as("127.0.0.1:9092,DOCKER://0.0.0.0:9094=pillion:9094,V6://[::1]:0", None, None).unwrap();
    assert_eq!(
        read.listeners,
        [
            config("PLAINTEXT", "127.0.0.1:9092", None),
            config("DOCKER", "0.0.0.0:9094", Some("pillion:9094")),
            config("V6", "[::1]:0", None),
        ]
    );
    assert!(read.warnings.is_empty());
}

#[test]
fn kafkas_own_key_names_advertised_addresses_too() {
    let read = read_as("A://0.0.0.0:1,B://127.0.0.1:2", Some("A://broker,B://[::1]:7"), None).unwrap();
    let advertised: Vec<_> = read.listeners.iter().map(|listener| listener.advertised.as_deref().unwrap()).collect();
    assert_eq!(advertised, ["broker", "[::1]:7"]);
    assert!(read.warnings.is_empty());
}

#[test]
fn an_address_that_means_all_is_never_advertised() {
    for all in ["0.0.0.0:9092", "[::]:9092", "[::ffff:0.0.0.0]:9092", ":9092"] {
        let read = read_as(all, None, Some("workstation")).unwrap();
        assert_eq!(read.listeners[0].advertised.as_deref(), Some("workstation"), "{all}");
        assert_eq!(read.warnings.len(), 1, "{all}");
        let read = read_as(all, None, None).unwrap();
        assert_eq!(read.listeners[0].advertised.as_deref(), Some("127.0.0.1"), "{all}");
    }
    for all in ["0.0.0.0", "0.0.0.0:9092", "[::]", "[::]:9092", ""] {
        let problems = read_as(&format!("127.0.0.1:9092={all}"), None, None).unwrap_err();
        assert!(problems[0].contains("cannot be advertised"), "{all}: {problems:?}");
    }
}

#[test]
fn what_is_not_a_listener_says_why() {
    let cases = [
        ("localhost", "expected HOST:PORT"),
        ("localhost:99999", "expected HOST:PORT"),
        ("plain://localhost:1", "made of A-Z"),
        ("SSL://localhost:1", "not supported"),
        ("SASL_SSL://localhost:1", "not supported"),
        ("A://localhost:1,A://localhost:2", "A is there twice"),
        ("", "name at least one"),
        ("localhost:1=broker:0", "cannot be advertised"),
        ("localhost:1=broker:x", "cannot be advertised"),
    ];
    for (text, expected) in cases {
        let problems = read_as(text, None, None).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains(expected), "{text}: {problems:?}");
    }
    let problems = read_as("A://localhost:1", Some("B://broker"), None).unwrap_err();
    assert!(problems[0].ends_with("there is no listener B"), "{problems:?}");
}
