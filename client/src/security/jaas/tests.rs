use super::credentials;

#[test]
fn user_and_password_are_read() {
    let text =
        r#"org.apache.kafka.common.security.scram.ScramLoginModule required username="al ice" password="a\"b;c='";"#;
    assert_eq!(credentials(text), Ok(("al ice".to_owned(), "a\"b;c='".to_owned())));
    let text = "org.apache.kafka.common.security.plain.PlainLoginModule required\n  username='u'\n password=p ;";
    assert_eq!(credentials(text), Ok(("u".to_owned(), "p".to_owned())));
}

#[test]
fn whatever_else_is_refused_and_not_repeated() {
    for text in [
        "",
        ";",
        "PlainLoginModule required",
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;",
        "scram.ScramLoginModule required username=\"u\";",
        "scram.ScramLoginModule required username=\"u\" password=\"s3cr3t;",
        "scram.ScramLoginModule required username=\"u\" password=\"s3cr3t\" tokenauth=\"true\";",
        "scram.ScramLoginModule username=\"u\" password=\"s3cr3t\";",
        "scram.ScramLoginModule required s3cr3t;",
    ] {
        let error = credentials(text).expect_err(text).to_string();
        assert!(!error.contains("s3cr3t"), "{error}");
    }
}
