// Numbers, times and bytes for people. Pure.

const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value) => (value == null ? "–" : integer.format(value));

export const several = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function bytes(value) {
  if (value == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return `${unit === 0 ? Math.round(value) : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function rate(value) {
  if (value == null || Number.isNaN(value)) return "–";
  return value < 10 && value > 0 ? value.toFixed(1) : integer.format(value);
}

export function duration(seconds) {
  if (seconds == null || Number.isNaN(seconds)) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${seconds < 0.01 ? (seconds * 1e3).toFixed(1) : Math.round(seconds * 1e3)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

const pad = (value, width = 2) => String(value).padStart(width, "0");

export function time(ms) {
  if (ms == null || ms < 0) return "–";
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`;
}

export const clock = (ms) => { const at = new Date(ms); return `${pad(at.getHours())}:${pad(at.getMinutes())}`; };

// The value below which a share of the durations lies, by straight lines within buckets; null without any.
export function quantile(buckets, share) {
  const total = buckets.reduce((sum, [, in_bucket]) => sum + in_bucket, 0);
  if (total === 0) return null;
  let [seen, lower] = [0, 0];
  for (const [bound, in_bucket] of buckets) {
    if (seen + in_bucket >= total * share) {
      if (bound == null) return lower;
      return in_bucket === 0 ? bound : lower + (bound - lower) * (total * share - seen) / in_bucket;
    }
    seen += in_bucket;
    lower = bound ?? lower;
  }
  return lower;
}

// What happened between two looks at the same histogram.
export const between = (before, after) =>
  after.map(([bound, in_bucket], place) => [bound, Math.max(0, in_bucket - (before?.[place]?.[1] ?? 0))]);

export const states = {
  starting: ["starting", "warn"],
  waiting_for_postgres: ["waiting for Postgres", "bad"],
  standby: ["standby", ""],
  waiting_for_broker: ["waiting for the broker", "bad"],
  streaming: ["streaming", "good"],
  stopped: ["stopped", "bad"],
};
