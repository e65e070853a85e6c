use std::error::Error;

use super::{PostgresUrl, PostgresUrlError};
use crate::tls::TlsMode;

fn parse(text: &str) -> Result<PostgresUrl, PostgresUrlError> {
    text.parse()
}

#[test]
fn parts_are_read_from_url_and_key_value_form() {
    for text in ["postgresql://me:secret@db:6543/shop", "host=db port=6543 user=me password=secret dbname=shop"] {
        let url = parse(text).unwrap();
        assert_eq!((url.host().as_str(), url.port(), url.user(), url.database()), ("db", 6543, "me", "shop"));
        assert_eq!(url.password(), "secret");
    }
    let url = parse("postgres://me@db").unwrap();
    assert_eq!((url.port(), url.database(), url.password()), (5432, "me", ""));
    assert_eq!(parse("postgresql:///shop?host=/run/pg&user=me").unwrap().host(), "/run/pg");
}

#[test]
fn the_password_is_never_printed() {
    let url = parse("postgresql://me:s3cr3t@db/shop").unwrap();
    assert_eq!(format!("{url}"), "postgresql://me@db:5432/shop");
    assert!(!format!("{url:?}").contains("s3cr3t"));
}

#[test]
fn errors_do_not_repeat_the_password() {
    for text in [
        "postgresql://me:s3cr3t@db:port/shop",
        "host=db user=me password=s3cr3t nonsense=1",
        "postgresql://me:s3cr3t@a,b/shop",
    ] {
        let error = parse(text).unwrap_err();
        let mut printed = format!("{error} {error:?}");
        let mut source = error.source();
        while let Some(cause) = source {
            printed.push_str(&format!("{cause} {cause:?}"));
            source = cause.source();
        }
        assert!(!printed.contains("s3cr3t"), "{printed}");
    }
}

#[test]
fn addresses_that_cannot_work_are_refused() {
    assert!(matches!(parse("nonsense"), Err(PostgresUrlError::Syntax(_))));
    assert!(matches!(parse("postgresql://me@/shop"), Err(PostgresUrlError::Hosts(0))));
    assert!(matches!(parse("postgresql://me@a,b/shop"), Err(PostgresUrlError::Hosts(2))));
    assert!(matches!(parse("postgresql://db/shop"), Err(PostgresUrlError::NoUser)));
    for (text, expected) in [
        ("postgresql://me@db/shop?sslmode=most", "verify-full"),
        ("postgresql://me@db/shop?sslmode=require&sslrootcert=system", "use sslmode=verify-full"),
        ("host=db user=me channel_binding=require", "channel_binding=prefer"),
        ("host=db user=me sslpassword=s3cr3t", "decrypt the key"),
        ("postgresql://me@db/shop?sslnegotiation=direct", "leave it out"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, PostgresUrlError::Tls(_)) && error.to_string().contains(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error:?}");
    }
}

#[test]
fn options_about_tls_are_libpqs_in_both_forms() {
    for (text, mode) in [
        ("postgresql://me@db/shop", TlsMode::Prefer),
        ("postgresql://me@db/shop?sslmode=", TlsMode::Prefer),
        ("postgresql://me@db/shop?sslmode=disable", TlsMode::Disable),
        ("postgresql://me@db/shop?sslmode=allow&connect_timeout=3", TlsMode::Prefer),
        ("postgresql://me:wh@t?sslmode=x@db/shop?connect_timeout=3&sslmode=require", TlsMode::Require),
        ("postgresql://me@db/shop?sslmode=require&sslmode=verify%2Dca", TlsMode::VerifyCa),
        ("postgresql://me@db/shop?sslrootcert=system", TlsMode::VerifyFull),
        ("host=db user=me sslmode = 'verify-full' dbname=shop", TlsMode::VerifyFull),
        (r"user=me sslrootcert='/a b\'c' host=db sslmode=verify-ca dbname = shop", TlsMode::VerifyCa),
    ] {
        // tokio-postgres ends the credentials at the first `@`, so a password has it encoded.
        let text = text.replace("wh@t?sslmode=x", "wh%40t?sslmode=x");
        let url = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(url.tls().mode(), mode, "{text}");
        assert_eq!(url.host(), "db", "{text}");
    }
    let url = parse("postgresql://me@db?sslcert=/c&sslkey=/k%20y&hostaddr=127.0.0.1").unwrap();
    assert_eq!((url.host().as_str(), url.address().as_str(), url.database()), ("db", "127.0.0.1", "me"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in "(postgresql://|)[a-z@?&=' \\\\%s]{0,40}(sslmode=[ '\\\\a]{0,5})?") {
        let _ = parse(&text);
    }
}
