// The shell: routes, the clock that keeps views live, keyboard, and whether pillion answers.

import { broker } from "./broker.js";
import { connector, connectors } from "./connectors.js";
import { h, setText } from "./dom.js";
import { group, groups } from "./groups.js";
import { message, messages } from "./messages.js";
import { overview } from "./overview.js";
import { Refusal, fetchJson } from "./server.js";
import { topic, topics } from "./topics.js";

const main = document.getElementById("view");
const [ready, lost, keys] = ["ready", "lost", "keys"].map((id) => document.getElementById(id));

// What the first answer says of what may be done here.
export const settings = { allowWrites: false, traceUrl: null };

function find([name = "", ...rest], query) {
  const one = rest[0];
  if (name === "") return ["overview", overview()];
  if (name === "topics") return ["topics", topics(query)];
  if (name === "topic" && one != null && rest[1] === "messages") return ["topics", messages(one, query, settings)];
  if (name === "topic" && one != null && rest[1] === "message") return ["topics", message(one, rest[2], rest[3], settings)];
  if (name === "topic" && one != null) return ["topics", topic(one)];
  if (name === "groups") return ["groups", groups(query)];
  if (name === "group" && one != null) return ["groups", group(one)];
  if (name === "connectors") return ["connectors", connectors()];
  if (name === "connector" && one != null) return ["connectors", connector(one, settings)];
  if (name === "broker") return ["broker", broker()];
  const element = h("div", {}, h("h1", {}, "There is no such view"), h("p", { class: "empty" }, h("a", { href: "#/" }, "To the overview")));
  return ["", { title: "Nothing here", element, update: async () => {}, every: null }];
}

let [view, timer, turn] = [null, null, 0];

function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path === "" ? [] : path.split("/").map(decode);
  const [name, found] = find(parts, new URLSearchParams(query));
  view = found;
  turn++;
  document.title = `${view.title} · pillion`;
  for (const anchor of document.querySelectorAll("nav a")) {
    if (anchor.dataset.view === name) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  main.replaceChildren(view.element);
  main.dataset.state = "loading";
  window.scrollTo(0, 0);
  tick();
}

async function tick() {
  clearTimeout(timer);
  const [mine, current] = [turn, view];
  try {
    await Promise.all([current.update(), look()]);
    lost.hidden = true;
    current.element.querySelector(":scope > .refusal")?.remove();
  } catch (error) {
    if (mine !== turn) return;
    if (error instanceof Refusal) refuse(current.element, error.message);
    else if (error instanceof TypeError) lost.hidden = false;
    else { console.error(error); refuse(current.element, `This view failed: ${error.message}`); }
  }
  if (mine !== turn) return;
  main.dataset.state = "shown";
  if (current.every) timer = setTimeout(tick, document.hidden ? 30_000 : current.every);
}

function refuse(element, reason) {
  let notice = element.querySelector(":scope > .refusal");
  if (!notice) element.prepend(notice = h("p", { class: "notice bad refusal" }));
  setText(notice, reason);
}

async function look() {
  const response = await fetch("readyz");
  const { ready: isReady, reasons } = await response.json();
  ready.dataset.state = isReady ? "yes" : "no";
  setText(ready, isReady ? "ready" : `not ready: ${reasons[0].part}`);
  ready.title = isReady ? "" : reasons.map((reason) => `${reason.part}: ${reason.reason}`).join("\n");
}

const places = { o: "#/", t: "#/topics", g: "#/groups", c: "#/connectors", b: "#/broker" };

function press(event) {
  const isTyping = event.target.closest?.("input, textarea, select, dialog[open]");
  if (event.key === "Escape" && isTyping && !event.target.closest("dialog")) return event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    event.preventDefault();
    if (search) search.focus();
    else location.hash = "#/topics?focus=1";
  } else if (event.key === "?") {
    keys.showModal();
  } else if (places[event.key]) {
    location.hash = places[event.key];
  }
}

addEventListener("hashchange", route);
addEventListener("pillion:refresh", tick);
addEventListener("keydown", press);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
document.getElementById("help").addEventListener("click", () => keys.showModal());

fetchJson("api/overview").then((seen) => Object.assign(settings, seen.settings), () => {}).finally(route);
