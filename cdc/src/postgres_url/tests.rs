use std::error::Error;

use super::{PostgresUrl, PostgresUrlError};

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
    assert!(matches!(parse("postgresql://me@db/shop?sslmode=require"), Err(PostgresUrlError::Tls)));
}
