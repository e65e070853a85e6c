use proptest::prelude::*;

use super::Lsn;

#[test]
fn text_is_the_one_postgres_prints() {
    assert_eq!(Lsn::new(0x16_B374_D848).to_string(), "16/B374D848");
    assert_eq!(Lsn::ZERO.to_string(), "0/0");
    assert_eq!("0/1530D60".parse(), Ok(Lsn::new(0x153_0D60)));
    assert_eq!("ffffffff/ffffffff".parse(), Ok(Lsn::new(u64::MAX)));
}

#[test]
fn anything_else_is_refused_with_the_text_in_the_message() {
    for text in
        ["", "/", "1", "1/", "/1", "1/2/3", "+1/2", "1/-2", "0x1/2", "123456789/0", "0/123456789", "1 /2", "g/1"]
    {
        let error = text.parse::<Lsn>().expect_err(text);
        assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
    }
}

#[test]
fn bytes_since_never_wraps() {
    assert_eq!(Lsn::new(30).bytes_since(Lsn::new(10)), 20);
    assert_eq!(Lsn::new(10).bytes_since(Lsn::new(30)), 0);
}

proptest! {
    #[test]
    fn display_and_parse_agree(value: u64) {
        prop_assert_eq!(Lsn::new(value).to_string().parse(), Ok(Lsn::new(value)));
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,24}") {
        let _ = text.parse::<Lsn>();
    }
}
