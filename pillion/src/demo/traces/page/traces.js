// The trace view's page: a list of traces, or one of them as a waterfall. Whatever a span says is text, never markup:
// elements are made by `element`, which knows no HTML.
"use strict";

const POLL_MS = 2000;
const view = document.getElementById("view");
const hint = document.getElementById("hint");
const match = location.pathname.match(/^\/traces\/([0-9a-f]{32})\/?$/i);
const traceId = match && match[1].toLowerCase();
const colours = new Map();
// Spans whose details are open; the address names the one that was opened last.
const open = new Set([location.hash.slice(1)].filter((id) => /^[0-9a-f]{16}$/.test(id)));
let shown = "";

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "onclick") made.addEventListener("click", value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) made.style.setProperty(key, text);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function colour(service) {
  if (!colours.has(service)) colours.set(service, `var(--s${Math.min(colours.size, 7)})`);
  return colours.get(service);
}

function duration(us) {
  if (us === 0) return "0";
  if (us < 1000) return `${us.toFixed(us < 10 ? 1 : 0)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : us < 1e5 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(2)} s`;
}

function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour12: false });
}

function chips(services) {
  const each = services.map((name) => element("span", { class: "chip", style: { "--c": colour(name) } }, name));
  return element("span", { class: "chips" }, ...each);
}

function plural(count, one) {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

// The list.

function listItem(trace) {
  return element("li", {},
    element("a", { href: `/traces/${trace.traceId}` },
      element("span", { class: "started quiet" }, clock(trace.startMs)),
      element("span", { class: "name" }, `${trace.rootService}: ${trace.rootName}`),
      chips(trace.services),
      element("span", { class: "number" }, plural(trace.spans, "span")),
      element("span", { class: "number" }, duration(trace.durationUs)),
      element("span", { class: trace.errors ? "number bad" : "number quiet" }, trace.errors ? plural(trace.errors, "error") : "no error")));
}

function showList(traces) {
  if (traces.length === 0) {
    return [element("p", { class: "empty" }, "No trace has come yet. Place an order, as the terminal shows; its trace will be here a moment later.")];
  }
  return [element("ol", { class: "traces" }, ...traces.map(listItem))];
}

// One trace.

/** Spans with their depth, parents before children, by start. A span whose parent has not come stands at the left. */
function inOrder(spans) {
  const known = new Map(spans.map((span) => [span.spanId, span]));
  const children = new Map();
  const roots = [];
  for (const span of spans) {
    if (known.has(span.parentSpanId) && span.parentSpanId !== span.spanId) {
      if (!children.has(span.parentSpanId)) children.set(span.parentSpanId, []);
      children.get(span.parentSpanId).push(span);
    } else {
      roots.push(span);
    }
  }
  const ordered = [];
  const seen = new Set();
  const walk = (from) => {
    const waiting = from.slice().reverse().map((span) => [span, 0]);
    while (waiting.length > 0) {
      const [span, depth] = waiting.pop();
      if (seen.has(span.spanId)) continue;
      seen.add(span.spanId);
      ordered.push([span, depth]);
      for (const child of (children.get(span.spanId) || []).slice().reverse()) waiting.push([child, depth + 1]);
    }
  };
  walk(roots);
  // Parents that form a circle: shown all the same.
  walk(spans.filter((span) => !seen.has(span.spanId)));
  return ordered;
}

function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function attributeList(attributes) {
  const pairs = Object.entries(attributes).flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, textOf(value))]);
  return element("dl", {}, ...pairs);
}

function eventBox(event) {
  const isException = event.name === "exception";
  return element("div", { class: isException ? "event exception" : "event" },
    element("b", {}, event.name), " ", element("span", { class: "quiet" }, `at ${duration(event.us)}`), attributeList(event.attributes));
}

function linkLine(link) {
  const here = link.traceId === traceId;
  return element("p", { class: "mono" }, here ? `span ${link.spanId} of this trace` : element("a", { href: `/traces/${link.traceId}#${link.spanId}` }, `${link.traceId} span ${link.spanId}`));
}

function details(span, by) {
  const parts = [element("h2", {}, "Span"), attributeList({
    service: span.service, kind: span.kind, start: duration(span.startUs), duration: duration(span.durationUs), "span id": span.spanId,
    ...(span.parentSpanId ? { parent: span.parentSpanId } : {}),
    ...(span.isError ? { status: span.status ? `error: ${span.status}` : "error" } : {}),
  })];
  if (Object.keys(span.attributes).length) parts.push(element("h2", {}, "Attributes"), attributeList(span.attributes));
  if (span.events.length) parts.push(element("h2", {}, "Events"), ...span.events.map(eventBox));
  if (span.links.length) parts.push(element("h2", {}, "Links"), ...span.links.map(linkLine));
  return element("div", { class: "details", id: `details-${span.spanId}`, style: { "--c": colour(span.service) }, role: "region", "aria-label": by }, ...parts);
}

function percent(part, whole) {
  return `${Math.min(100, Math.max(0, (100 * part) / (whole || 1)))}%`;
}

function track(span, whole) {
  const end = span.startUs + span.durationUs;
  const marks = span.events.map((event) => element("span", { class: event.name === "exception" ? "mark exception" : "mark", style: { left: percent(event.us, whole) } }));
  // The time stands behind the bar where there is room, else before it.
  const isLate = end > 0.8 * whole;
  const place = !isLate ? { left: percent(end, whole) } : span.startUs > 0.2 * whole ? { right: percent(whole - span.startUs, whole) } : { right: "0" };
  return element("span", { class: "track" },
    element("span", { class: "bar", style: { left: percent(span.startUs, whole), width: percent(span.durationUs, whole) } }), ...marks,
    element("span", { class: "time", style: place }, duration(span.durationUs)));
}

function spanRow(span, depth, whole) {
  const by = `${span.service}: ${span.name}`;
  const isOpen = open.has(span.spanId);
  const row = element("button", {
    class: span.isError ? "row error" : "row", type: "button", "aria-expanded": String(isOpen), "data-service": span.service, style: { "--c": colour(span.service) },
    onclick: () => {
      if (open.has(span.spanId)) {
        open.delete(span.spanId);
        document.getElementById(`details-${span.spanId}`)?.remove();
      } else {
        open.add(span.spanId);
        row.after(details(span, by));
        history.replaceState(null, "", `#${span.spanId}`);
      }
      row.setAttribute("aria-expanded", String(open.has(span.spanId)));
    },
  },
  element("span", { class: "label", style: { "padding-left": `${12 + Math.min(depth, 24) * 12}px` } },
    element("span", { class: "span-name" }, span.name), element("span", { class: "service" }, span.service)),
  track(span, whole));
  return isOpen ? [row, details(span, by)] : [row];
}

function showTrace(trace) {
  const whole = trace.durationUs;
  document.title = `${trace.rootName} · pillion demo`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => element("span", {}, duration(part * whole)));
  const rows = inOrder(trace.all).flatMap(([span, depth]) => spanRow(span, depth, whole));
  return [
    element("p", {}, element("a", { href: "/traces" }, "← all traces")),
    element("h1", {}, `${trace.rootService}: ${trace.rootName}`),
    element("p", { class: "facts" },
      element("span", {}, "started ", element("b", {}, clock(trace.startMs))),
      element("span", {}, "took ", element("b", {}, duration(whole))),
      element("span", {}, element("b", {}, plural(trace.spans, "span"))),
      element("span", { class: trace.errors ? "bad" : "" }, trace.errors ? plural(trace.errors, "error") : "no error"),
      element("span", { class: "mono" }, trace.traceId)),
    chips(trace.services),
    trace.leftOut ? element("p", { class: "bad" }, `${plural(trace.leftOut, "more span")} came and are not kept.`) : null,
    element("div", { class: "waterfall" }, element("div", { class: "axis" }, element("span", {}, "span, service"), element("span", { class: "ticks" }, ...ticks)), ...rows),
  ];
}

// Keeping it fresh.

async function refresh() {
  try {
    const answer = await fetch(traceId ? `/api/traces/${traceId}` : "/api/traces", { cache: "no-store" });
    const text = await answer.text();
    if (text !== shown) {
      shown = text;
      const parts = answer.ok ? (traceId ? showTrace : showList)(JSON.parse(text)) : [element("p", { class: "empty" }, text)];
      const focused = [...view.querySelectorAll("button, a")].indexOf(document.activeElement);
      view.replaceChildren(...parts.filter(Boolean));
      if (focused >= 0) view.querySelectorAll("button, a")[focused]?.focus({ preventScroll: true });
    }
    hint.textContent = "The last traces of this demo, as its services sent them.";
  } catch {
    hint.textContent = "The demo has ended: what you see is what came until then.";
  }
}

refresh();
setInterval(() => document.hidden || refresh(), POLL_MS);
