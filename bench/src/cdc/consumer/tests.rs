use super::*;

#[test]
fn the_number_of_a_payload_is_found_with_and_without_blanks() {
    assert_eq!(number(br#"{"n": 42, "pad": "x"}"#).unwrap(), 42);
    assert_eq!(number(br#"{"n":7,"pad":"x"}"#).unwrap(), 7);
    assert!(number(br#"{"pad": "x"}"#).is_err());
    assert!(number(br#"{"n": "x"}"#).is_err());
}
