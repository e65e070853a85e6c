// The broker: memory, disk, requests by API, settings; or the brokers of another cluster.

import { Table, Tiles, facts, h, tag } from "./dom.js";
import { bytes, count, duration, quantile, time } from "./format.js";
import { fetchJson } from "./server.js";

export function broker() {
  const tiles = new Tiles(["Memory", "Files open", "Connections", "Received", "Sent", "Syncs", "Sync p99", "Not synced", "Transactions", "Logs", "Disk free", "Up for"]);
  const cluster = h("div");
  const apis = new Table([
    { title: "API", text: (api) => api.name },
    { title: "Requests", class: "number", text: (api) => count(api.count) },
    { title: "Mean", class: "number nowrap optional", text: (api) => duration(api.sumSeconds / api.count) },
    { title: "p50", class: "number nowrap", text: (api) => duration(quantile(api.buckets, 0.5)) },
    { title: "p99", class: "number nowrap", text: (api) => duration(quantile(api.buckets, 0.99)) },
  ], { key: (api) => api.name, label: "Requests by API", empty: "Requests are counted by a broker in this process; there is none." });
  const search = h("input", { type: "search", placeholder: "Setting  ( / )", "aria-label": "Search settings", autocomplete: "off" });
  const settings = new Table([
    { title: "Setting", class: "mono", text: (one) => one.name },
    { title: "Value", class: "mono", text: (one) => (one.isSensitive ? "hidden" : one.value ?? "–") },
    { title: "From", class: "nowrap optional", text: (one) => one.source },
  ], { key: (one) => one.name, label: "Settings", empty: "No setting's name holds this." });
  const warnings = new Table([
    { title: "Time", class: "nowrap optional", text: (one) => time(one.atMs) },
    { title: "", node: (one) => tag(one.isError ? "error" : "warning", one.isError ? "bad" : "warn") },
    { title: "What was said", text: (one) => one.text },
    { title: "By", class: "mono optional", text: (one) => one.target },
  ], { key: (one) => `${one.atMs} ${one.text}`, label: "Recent warnings", empty: "Nothing was worth a warning since the start." });
  let seen = null;
  const filter = () => {
    const wanted = search.value.toLowerCase();
    settings.update((seen?.configs ?? []).filter((one) => one.name.includes(wanted)));
  };
  search.addEventListener("input", filter);
  const element = h("div", {}, h("h1", {}, "Broker"), tiles.element,
    h("div", { class: "columns" },
      h("section", {}, h("h2", {}, "Cluster"), cluster, h("h2", {}, "Requests since the start"), apis.element, h("p", { class: "soft" }, "A fetch's wait for records and a produce's wait for the disk are in it.")),
      h("section", {}, h("h2", {}, "Settings"), h("div", { class: "bar" }, search), settings.element)),
    h("h2", {}, "Recent warnings"), warnings.element);

  async function update() {
    seen = await fetchJson("api/broker");
    const own = seen.counted;
    cluster.replaceChildren(facts([
      ["Cluster id", seen.clusterId], ["Controller", seen.controller == null ? "not known" : String(seen.controller)],
      ...seen.brokers.map((one) => [`Broker ${one.id}`, `${one.host}:${one.port}`]),
    ]));
    apis.update([...(own?.apis ?? [])].sort((one, other) => other.count - one.count));
    filter();
    warnings.update(seen.warnings);
    if (seen.process) {
      tiles.set("Memory", bytes(seen.process.residentBytes), `${count(seen.process.threads)} threads`);
      tiles.set("Up for", duration((Date.now() - seen.process.startedMs) / 1000));
      tiles.set("Files open", count(seen.process.openFiles), seen.process.openFilesMax == null ? "" : `of ${count(seen.process.openFilesMax)} at most`);
    }
    if (!own) return;
    tiles.set("Connections", count(own.connections), own.protocolErrors ? `${count(own.protocolErrors)} closed for what they sent` : "");
    tiles.set("Received", bytes(own.receivedBytes), "since the start");
    tiles.set("Sent", bytes(own.sentBytes), "since the start");
    tiles.set("Syncs", count(own.syncs.count), own.syncFailures ? `${count(own.syncFailures)} failed` : "none failed", own.syncFailures ? "bad" : "");
    tiles.set("Sync p99", duration(quantile(own.syncs.buckets, 0.99)), "since the start");
    tiles.set("Not synced", bytes(own.unsyncedBytes));
    tiles.set("Transactions", count(own.openTransactions), "open");
    tiles.set("Logs", bytes(own.logBytes), `${count(own.partitions)} partitions`);
    if (own.disk) tiles.set("Disk free", bytes(own.disk.freeBytes), `producers need ${bytes(own.disk.freeBytesMin)}`);
  }
  return { title: "Broker", element, update, every: 5_000 };
}
