use super::*;

#[test]
fn no_record_reaches_the_terminals_controls() {
    let record = RecordItem {
        offset: 3,
        timestamp: 0,
        sequence: -1,
        key: Some(b"\x1b[2J\"\n\xe2\x80\xae".to_vec()),
        value: Some(vec![0xff, 0x1b]),
        headers: vec![("a\x07b".to_owned(), None)],
    };
    let expected = r#"3  1970-01-01T00:00:00.000Z  key "\u{1b}[2J\"\n\u{202e}"  value 0xff1b  a\u{7}b=null"#;
    assert_eq!(record_line(&record), expected);
    assert_eq!(path(Path::new("orders\r-0/it's.log")), "orders\\r-0/it's.log");
}
