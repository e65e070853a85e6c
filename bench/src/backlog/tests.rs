use super::*;

#[test]
fn sizes_are_powers_of_two() {
    for (text, bytes) in [("18G", 18 << 30), ("256M", 256 << 20), ("64k", 64 << 10), ("512", 512), ("2GiB", 2 << 30)] {
        assert_eq!(bytes_of(text), Ok(bytes), "{text}");
    }
    for text in ["", "G", "0", "1T", "-1G", "1.5G", "99999999999999G"] {
        assert!(bytes_of(text).is_err(), "{text}");
    }
}
