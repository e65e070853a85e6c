use proptest::prelude::*;
use ring::{digest, hmac, pbkdf2};

use super::{Exchange, Hash, ScramError, Secret};

/// RFC 5802's example is in SHA-1, which no broker offers; it tests the exchange all the same.
fn sha1() -> Hash {
    Hash {
        digest: &digest::SHA1_FOR_LEGACY_USE_ONLY,
        hmac: hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA1,
    }
}

struct Example {
    hash: Hash,
    user: &'static str,
    password: &'static str,
    nonce: &'static str,
    messages: [&'static str; 4],
}

fn check(example: &Example) {
    let password = Secret::new(example.password);
    let exchange = Exchange::new(example.hash, example.user, &password, example.nonce.to_owned());
    let [client_first, server_first, client_final, server_final] = example.messages;
    assert_eq!(exchange.first(), client_first);
    let (last, expected) = exchange.answer(server_first.as_bytes()).expect("an answer");
    assert_eq!(last, client_final);
    assert_eq!(expected.verify(server_final.as_bytes()), Ok(()));
}

#[test]
fn example_of_rfc_5802() {
    check(&Example {
        hash: sha1(),
        user: "user",
        password: "pencil",
        nonce: "fyko+d2lbbFgONRv9qkxdawL",
        messages: [
            "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
            "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
            "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
            "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
        ],
    });
}

#[test]
fn example_of_rfc_7677() {
    check(&RFC_7677());
}

#[allow(non_snake_case, reason = "the name of a document")]
fn RFC_7677() -> Example {
    Example {
        hash: Hash::sha256(),
        user: "user",
        password: "pencil",
        nonce: "rOprNGfwEbeRWgbNEkqO",
        messages: [
            "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ],
    }
}

/// Made with another implementation (Python's hashlib and hmac).
#[test]
fn sha_512_with_a_name_that_needs_escapes() {
    check(&Example {
        hash: Hash::sha512(),
        user: "al=ice,",
        password: "p\u{e4}ss",
        nonce: "clientnonce",
        messages: [
            "n,,n=al=3Dice=2C,r=clientnonce",
            "r=clientnonceservernonce,s=c2FsdHlzYWx0,i=8192",
            "c=biws,r=clientnonceservernonce,p=bechZ3SeYKWDFVNsCe0HC0A4nEUL8wjwi/vJgXnvM24f9S1+3p9cfG5v4wezXUxYOfWc3ttoivcQSN2M0Cxk1Q==",
            "v=aIm0L1IZnS756gxUSzBuny6H96OiFAKKRj3OKIeFSABny7tWJxZLhykSqvBrEpCtKNuxAvCcQlSaTjwSbFnBvw==",
        ],
    });
}

fn first_refused_with(server_first: &str, error: ScramError) {
    let password = Secret::new("pencil");
    let exchange = Exchange::new(Hash::sha256(), "user", &password, "mine".to_owned());
    assert_eq!(exchange.answer(server_first.as_bytes()).map(|(last, _)| last), Err(error), "{server_first}");
}

#[test]
fn hostile_first_messages_are_refused_without_work() {
    let malformed = ScramError::Malformed("1");
    for text in ["", "r=minetheirs", "r=minetheirs,s=c2FsdA==", "r=minetheirs,s=*,i=4096", "r=minetheirs,s=c2FsdA==,i="]
    {
        first_refused_with(text, malformed);
    }
    first_refused_with("m=ext,r=minetheirs,s=c2FsdA==,i=4096", malformed);
    first_refused_with("r=minetheirs,s=c2FsdA==,i=99999999999", malformed);
    first_refused_with(&format!("r=mine{},s=c2FsdA==,i=4096", "x".repeat(5_000)), malformed);
    first_refused_with("r=theirs,s=c2FsdA==,i=4096", ScramError::Nonce);
    first_refused_with("r=mine,s=c2FsdA==,i=4096", ScramError::Nonce);
    for rounds in [0, 1, 4_095, 65_537, u32::MAX] {
        first_refused_with(&format!("r=minetheirs,s=c2FsdA==,i={rounds}"), ScramError::Iterations(rounds));
    }
}

#[test]
fn server_that_does_not_know_the_password_is_found_out() {
    let example = RFC_7677();
    let password = Secret::new("another");
    let exchange = Exchange::new(example.hash, example.user, &password, example.nonce.to_owned());
    let (_, expected) = exchange.answer(example.messages[1].as_bytes()).expect("an answer");
    assert_eq!(expected.verify(example.messages[3].as_bytes()), Err(ScramError::Signature));
    assert_eq!(expected.verify(b"v="), Err(ScramError::Signature));
    assert_eq!(expected.verify(b""), Err(ScramError::Malformed("2")));
    assert_eq!(expected.verify(b"v=*"), Err(ScramError::Malformed("2")));
    assert_eq!(expected.verify(b"e=invalid-proof"), Err(ScramError::Refused));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn no_message_of_a_server_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let password = Secret::new("pencil");
        let exchange = Exchange::new(Hash::sha256(), "user", &password, "m".to_owned());
        let _ = exchange.answer(&bytes);
    }
}
