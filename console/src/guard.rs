//! What stands before every request: who may ask, how many at once, for how long, and what a browser may do with the
//! answer.
//!
//! There is no log-in. So a console bound to this machine answers only to names of this machine, or any web page could
//! have the browser ask under a name of its own (DNS rebinding). What would change something must be allowed, and come
//! from the console's own page: a foreign one cannot set the header without asking first, and nobody answers that.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

/// Requests worked on at once.
const AT_ONCE_MAX: usize = 16;
/// Longest that one may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// A page's own requests that change something carry this.
pub(crate) const WRITE_HEADER: HeaderName = HeaderName::from_static("x-pillion-console");
/// Everything a page may load comes from here; nothing inline is run, and nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The rules.
#[derive(Clone)]
pub(crate) struct Guard {
    /// Only names of this machine are answered to.
    pub(crate) is_local: bool,
    /// Whether anything may be changed.
    pub(crate) allow_writes: bool,
    places: Arc<Semaphore>,
}

impl Guard {
    pub(crate) fn new(is_local: bool, allow_writes: bool) -> Self {
        Self { is_local, allow_writes, places: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }

    /// Whether a request is let through; else the status and what to do about it.
    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(&HOST).unwrap_or_default();
        if self.is_local && !is_this_machine(host) {
            let refusal = "this console is bound to this machine and answers to localhost, 127.0.0.1 and [::1] only; \
                           set ui.listen to an address of the network to have it answer to others\n";
            return Err((StatusCode::FORBIDDEN, refusal));
        }
        if method == Method::GET || method == Method::HEAD {
            return Ok(());
        }
        if !self.allow_writes {
            return Err((
                StatusCode::FORBIDDEN,
                "this console only shows; ui.allow.writes=true lets it change things\n",
            ));
        }
        let is_foreign = text(&ORIGIN).is_some_and(|origin| origin.split_once("://").map(|(_, at)| at) != Some(host));
        if is_foreign || !headers.contains_key(WRITE_HEADER) {
            return Err((StatusCode::FORBIDDEN, "changes are taken from the console's own page only\n"));
        }
        Ok(())
    }
}

/// Whether a `Host` header names this machine from within.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

/// Lets a request through, or answers it.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.method(), request.headers()) {
        Err(refusal) => refusal.into_response(),
        Ok(()) => match guard.places.try_acquire() {
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "too many requests at once\n").into_response(),
            Ok(_place) => match tokio::time::timeout(ANSWER_MAX, next.run(request)).await {
                Ok(response) => response,
                Err(_) => (StatusCode::GATEWAY_TIMEOUT, "this took too long and was given up\n").into_response(),
            },
        },
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests;
