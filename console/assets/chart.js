// Curves over the last hour: one or two lines, the newest value, the largest, and what is under the pointer.

import { h, setText } from "./dom.js";
import { clock } from "./format.js";

const [WIDTH, HEIGHT] = [300, 84];
const svg = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

export class Chart {
  constructor(title, names, format) {
    Object.assign(this, { names, format, points: [] });
    this.now = h("span");
    this.curves = names.map((_, place) => svg("path", { class: place ? "curve second" : "curve" }));
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    this.picture.append(svg("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), ...this.curves);
    [this.from, this.top, this.to] = [h("span"), h("span"), h("span")];
    this.element = h("figure", {},
      h("figcaption", {}, h("b", {}, title), this.now), this.picture,
      h("div", { class: "axis" }, this.from, this.top, this.to));
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.say(this.points.at(-1)));
  }

  // Points: [[ms, value, …], …], oldest first; a missing value is a gap.
  update(points) {
    this.points = points;
    if (points.length < 2) {
      setText(this.now, "");
      setText(this.top, "a curve needs a few seconds");
      return;
    }
    const [first, last] = [points[0][0], points.at(-1)[0]];
    const largest = Math.max(...points.flatMap((point) => point.slice(1).filter((value) => value != null)), 0);
    const scale = largest || 1;
    this.curves.forEach((curve, place) => {
      let pen = "M";
      const steps = points.map((point) => {
        const value = point[place + 1];
        if (value == null) { pen = "M"; return ""; }
        const x = (WIDTH * (point[0] - first)) / (last - first || 1);
        const step = `${pen}${x.toFixed(1)} ${(HEIGHT - 2 - (HEIGHT - 6) * (value / scale)).toFixed(1)}`;
        pen = "L";
        return step;
      });
      curve.setAttribute("d", steps.join("") || "M0 0");
    });
    setText(this.from, clock(first));
    setText(this.top, `highest ${this.format(largest)}`);
    setText(this.to, clock(last));
    if (!this.picture.matches(":hover")) this.say(points.at(-1));
  }

  point(event) {
    if (this.points.length < 2) return;
    const box = this.picture.getBoundingClientRect();
    const [first, last] = [this.points[0][0], this.points.at(-1)[0]];
    const at = first + ((last - first) * (event.clientX - box.left)) / box.width;
    const nearest = this.points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best));
    this.say(nearest, clock(nearest[0]));
  }

  say(point, at) {
    if (!point) return;
    const parts = this.names.map((name, place) =>
      h("span", { class: place ? "key second" : "key" }, `${name} ${this.format(point[place + 1])} `));
    this.now.replaceChildren(...parts, at ? ` at ${at}` : "");
  }
}

// From counters to rates: one value for each step between two samples; none where the process began anew.
export function rates(samples, ...counters) {
  return samples.slice(1).map((sample, place) => {
    const before = samples[place];
    const seconds = (sample.atMs - before.atMs) / 1000;
    return [sample.atMs, ...counters.map((counter) => {
      const grown = counter(sample) - counter(before);
      return seconds > 0 && grown >= 0 ? grown / seconds : null;
    })];
  });
}
