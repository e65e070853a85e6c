//! A service behind the storefront, and what the caller is told when it does not do its part.

use anyhow::{Result, anyhow};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pillion_saga::http::{Answer, HttpClient};
use pillion_saga::traced::record_exception;
use serde_json::{Value, json};
use tracing::{Span, error};

/// One service. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Upstream {
    name: &'static str,
    client: HttpClient,
}

impl Upstream {
    /// # Errors
    /// When the client cannot be made.
    pub(crate) fn new(name: &'static str, base_url: &str) -> Result<Upstream> {
        Ok(Upstream { name, client: HttpClient::new(base_url)? })
    }

    /// GET; `{id}` in `route` becomes the id.
    pub(crate) async fn get(&self, route: &str, id: &str, query: Option<&str>) -> Response {
        let id = utf8_percent_encode(id, NON_ALPHANUMERIC).to_string();
        let mut path = route.replace("{id}", &id);
        if let Some(query) = query {
            path.push('?');
            path.push_str(query);
        }
        self.respond(self.client.get(route, &path).await)
    }

    pub(crate) async fn post(&self, route: &str, body: &Value) -> Response {
        self.respond(self.client.post(route, route, body).await)
    }

    /// What goes wrong is logged here, once, and marks the request's span.
    fn respond(&self, outcome: Result<Answer>) -> Response {
        let (status, body) = match outcome {
            Ok(Answer { status, body }) => {
                if status.is_server_error() {
                    note(&anyhow!("service {} answered {status}: {body}", self.name));
                }
                (status, self.explained(status, body))
            }
            Err(error) => {
                let told = self.told(&error);
                note(&error.context(format!("service {}", self.name)));
                told
            }
        };
        (status, Json(body)).into_response()
    }

    /// What a service's framework refuses by itself, such as a path that is no id, is not told in JSON.
    fn explained(&self, status: StatusCode, body: Value) -> Value {
        match body {
            Value::Null if !status.is_success() => {
                json!({ "error": format!("service {} answered {status}", self.name) })
            }
            body => body,
        }
    }

    /// Which service it was, and whether it may be tried again.
    fn told(&self, error: &anyhow::Error) -> (StatusCode, Value) {
        let name = self.name;
        let cause = error.downcast_ref::<reqwest::Error>();
        if cause.is_some_and(reqwest::Error::is_connect) {
            let text = format!("service {name} cannot be reached, nothing was done; try again");
            return (StatusCode::BAD_GATEWAY, json!({ "error": text }));
        }
        if cause.is_some_and(reqwest::Error::is_timeout) {
            let text = format!("service {name} has not answered in time; whether it did its part is not known");
            return (StatusCode::GATEWAY_TIMEOUT, json!({ "error": text }));
        }
        let text = format!("service {name} gave no usable answer; whether it did its part is not known");
        (StatusCode::BAD_GATEWAY, json!({ "error": text }))
    }
}

fn note(error: &anyhow::Error) {
    error!(error = %format_args!("{error:#}"));
    record_exception(&Span::current(), error);
}
