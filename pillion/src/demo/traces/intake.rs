//! From an OTLP request's bytes to spans.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;

use super::store::{SpanOfService, TraceId};

/// Bytes of a request, before and after decompression.
pub(super) const REQUEST_BYTES_MAX: usize = 4 << 20;

/// Reads a request. Spans without valid ids are left out.
///
/// # Errors
/// When it is not OTLP, too large, or compressed by anything but gzip.
pub(super) fn spans(body: &[u8], encoding: Option<&str>) -> Result<Vec<(TraceId, SpanOfService)>> {
    let request = match encoding {
        None | Some("identity") => ExportTraceServiceRequest::decode(body),
        Some("gzip") => {
            let mut unpacked = Vec::new();
            let mut reader = GzDecoder::new(body).take(REQUEST_BYTES_MAX as u64 + 1);
            reader.read_to_end(&mut unpacked).context("the gzip is broken")?;
            if unpacked.len() > REQUEST_BYTES_MAX {
                bail!("more than {REQUEST_BYTES_MAX} bytes: send smaller batches");
            }
            ExportTraceServiceRequest::decode(&*unpacked)
        }
        Some(other) => bail!("content-encoding {other} is not known: send gzip or none"),
    };
    let request = request.context("not an OTLP request for traces")?;
    let mut found = Vec::new();
    for resource in request.resource_spans {
        let attributes = resource.resource.map(|resource| resource.attributes).unwrap_or_default();
        let named = attributes.into_iter().find(|attribute| attribute.key == "service.name");
        let service: Arc<str> = match named.and_then(|attribute| attribute.value?.value) {
            Some(Value::StringValue(name)) => name.into(),
            _ => "unknown".into(),
        };
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let trace_id = TraceId::try_from(&*span.trace_id).ok().filter(|id| *id != [0; 16]);
            if let Some(trace_id) = trace_id.filter(|_| span.span_id.len() == 8) {
                found.push((trace_id, SpanOfService { service: Arc::clone(&service), span }));
            }
        }
    }
    Ok(found)
}
