use super::*;

fn told(bind: &str, advertised: Option<&str>, bound: &str) -> (String, u16) {
    let config = ListenerConfig {
        name: "PLAINTEXT".to_owned(),
        bind: bind.to_owned(),
        advertised: advertised.map(str::to_owned),
    };
    super::advertised(&config, bound.parse().expect("an address"))
}

#[test]
fn clients_are_told_what_the_operator_said_else_what_is_bound() {
    let cases = [
        ("127.0.0.1:0", None, "127.0.0.1:4000", "127.0.0.1", 4000),
        ("localhost:9092", None, "127.0.0.1:9092", "localhost", 9092),
        ("[::1]:0", None, "[::1]:4000", "::1", 4000),
        ("127.0.0.1:0", Some("pillion:9094"), "127.0.0.1:4000", "pillion", 9094),
        ("127.0.0.1:0", Some("pillion"), "127.0.0.1:4000", "pillion", 4000),
        ("127.0.0.1:0", Some("pillion:0"), "127.0.0.1:4000", "pillion", 4000),
        ("0.0.0.0:0", Some("[::1]:7"), "0.0.0.0:4000", "::1", 7),
    ];
    for (bind, advertised, bound, host, port) in cases {
        assert_eq!(told(bind, advertised, bound), (host.to_owned(), port), "{bind} {advertised:?}");
    }
}

#[test]
fn a_wildcard_is_never_advertised() {
    let cases = [
        ("0.0.0.0:0", None, "0.0.0.0:4000"),
        ("[::]:0", None, "[::]:4000"),
        ("127.0.0.1:0", Some("0.0.0.0:4000"), "127.0.0.1:9"),
        ("127.0.0.1:0", Some("[::]"), "127.0.0.1:4000"),
    ];
    for (bind, advertised, bound) in cases {
        let (host, port) = told(bind, advertised, bound);
        assert!(!["0.0.0.0", "::", ""].contains(&host.as_str()), "{bind} is advertised as {host}");
        assert_eq!(port, 4000);
    }
}
