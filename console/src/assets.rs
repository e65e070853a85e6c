//! The page's files, which are part of the binary: nothing is built for them and nothing is fetched from elsewhere.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::routing::get;

/// A file of the page.
struct Asset {
    path: &'static str,
    content_type: &'static str,
    content: &'static str,
}

macro_rules! asset {
    ($name:literal, $content_type:literal) => {
        Asset {
            path: concat!("/", $name),
            content_type: $content_type,
            content: include_str!(concat!("../assets/", $name)),
        }
    };
}

macro_rules! script {
    ($name:literal) => {
        asset!($name, "text/javascript; charset=utf-8")
    };
}

static ASSETS: [Asset; 17] = [
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
    script!("app.js"),
    script!("broker.js"),
    script!("chart.js"),
    script!("connectors.js"),
    script!("deadletters.js"),
    script!("dom.js"),
    script!("format.js"),
    script!("groups.js"),
    script!("messages.js"),
    script!("overview.js"),
    script!("payload.js"),
    script!("produce.js"),
    script!("server.js"),
    script!("topics.js"),
];

/// Routes to the files; `/` is the page.
pub(crate) fn routes() -> Router {
    ASSETS.iter().fold(Router::new(), |router, asset| {
        // A browser asks again each time: a new version's page must not meet an old one's scripts.
        let answer = || async { ([(CONTENT_TYPE, asset.content_type), (CACHE_CONTROL, "no-cache")], asset.content) };
        let router = router.route(asset.path, get(answer));
        if asset.path == "/index.html" { router.route("/", get(answer)) } else { router }
    })
}

#[cfg(test)]
mod tests;
