use super::*;

fn page(search: &str, skip: usize, limit: Option<usize>) -> Page {
    Page { search: search.to_owned(), skip, limit }
}

#[test]
fn a_page_has_a_bound_whatever_is_asked_for() {
    let all: Vec<String> = (0..2_000).map(|number| format!("topic-{number:04}")).collect();
    let (total, shown) = page("", 0, Some(usize::MAX)).of(all.clone(), |name| name);
    assert_eq!((total, shown.len()), (2_000, Page::LIMIT_MAX));
    let (total, shown) = page("", usize::MAX, None).of(all.clone(), |name| name);
    assert_eq!((total, shown.len()), (2_000, 0));
    let (total, shown) = page("TOPIC-199", 1, Some(2)).of(all, |name| name);
    assert_eq!((total, shown), (10, vec!["topic-1991".to_owned(), "topic-1992".to_owned()]));
}
