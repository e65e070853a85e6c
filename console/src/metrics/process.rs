//! The process, under the names that Prometheus' own client libraries use.

use crate::exposition::Exposition;
use crate::process;

/// Writes what the operating system knows; nothing where it does not say.
pub(super) fn write(exposition: &mut Exposition) {
    let Some(seen) = process::look() else { return };
    exposition.counter("process_cpu_seconds_total", "Processor time used, user and system.", seen.cpu_seconds);
    exposition.gauge("process_resident_memory_bytes", "Memory in use.", seen.resident_bytes);
    exposition.gauge("process_virtual_memory_bytes", "Address space.", seen.virtual_bytes);
    exposition.gauge("process_threads", "Threads.", seen.threads);
    exposition.gauge(
        "process_start_time_seconds",
        "When the process began, since the Unix epoch.",
        seen.started_seconds,
    );
    exposition.gauge("process_open_fds", "Open file descriptors.", seen.open_files);
    if let Some(max) = seen.open_files_max {
        exposition.gauge("process_max_fds", "The most open file descriptors there may be.", max);
    }
}
