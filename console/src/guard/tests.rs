use super::*;

fn check(guard: &Guard, method: Method, headers: &[(&'static str, &'static str)]) -> u16 {
    let headers = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    guard.check(&method, &headers.collect()).map_or_else(|(status, _)| status.as_u16(), |()| 200)
}

#[test]
fn a_local_console_answers_to_names_of_this_machine_only() {
    let guard = Guard::new(true, false);
    for host in ["localhost", "localhost:9180", "LOCALHOST:9180", "127.0.0.1:9180", "[::1]", "[::1]:9180"] {
        assert_eq!(check(&guard, Method::GET, &[("host", host)]), 200, "{host}");
    }
    for host in ["evil.example:9180", "localhost.evil.example", "127.0.0.1.evil.example:9180", "", "10.0.0.1:9180"] {
        assert_eq!(check(&guard, Method::GET, &[("host", host)]), 403, "{host}");
    }
    assert_eq!(check(&guard, Method::GET, &[]), 403);
    assert_eq!(check(&Guard::new(false, false), Method::GET, &[("host", "pillion.shop:9180")]), 200);
}

#[test]
fn nothing_is_changed_unless_it_is_allowed() {
    let own: &[_] = &[("host", "localhost:1"), ("origin", "http://localhost:1"), ("x-pillion-console", "1")];
    assert_eq!(check(&Guard::new(true, false), Method::POST, own), 403);
    assert_eq!(check(&Guard::new(true, true), Method::POST, own), 200);
    assert_eq!(check(&Guard::new(true, true), Method::DELETE, own), 200);
}

#[test]
fn changes_come_from_the_consoles_own_page() {
    let guard = Guard::new(true, true);
    let host = ("host", "localhost:1");
    for headers in [
        &[host][..],
        &[host, ("origin", "http://localhost:1")],
        &[host, ("origin", "http://evil.example"), ("x-pillion-console", "1")],
        &[host, ("origin", "null"), ("x-pillion-console", "1")],
        &[host, ("origin", "http://localhost:2"), ("x-pillion-console", "1")],
    ] {
        assert_eq!(check(&guard, Method::POST, headers), 403, "{headers:?}");
    }
    assert_eq!(check(&guard, Method::POST, &[host, ("x-pillion-console", "1")]), 200, "a script has no origin");
}
