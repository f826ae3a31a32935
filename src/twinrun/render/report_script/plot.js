// What all plots of a report have in common: the numbers that stand in the page, and an SVG as wide as the page with a
// cursor at the chosen step. A step that is chosen in one is chosen in all. Each plot is a slider over steps for the
// keyboard and for screen readers, and has a table beside it. Names come from strangers' programs: they become text, never markup.

const page = document;
const numbers = JSON.parse(page.getElementById("numbers").textContent);
const KINDS = { "=": "equal", "~": "within", x: "different" };
const WORDS = { ".": "not compared", "=": "equal", "~": "different, within the contract", x: "different" };
const MOST_LINES = 6; // as many as the style sheet has colours for
const NEAR = 10_000; // ULPs; of more, the absolute difference says all there is to say
const plots = [];
let chosen = numbers.first ?? numbers.last; // the step

const find = (id) => page.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const count = (value) => value.toLocaleString("en-US");

function short(value) {
  if (value === null || value === undefined) return "not measured";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return scientific(value, 2);
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
}

// 1.5e-07, as Python has it.
function scientific(value, digits) {
  return value.toExponential(digits).replace(/\.?0*e/, "e").replace(/e([+-])(\d)$/, "e$10$2");
}

function make(name, attributes = {}, ...children) {
  const drawn = /^(svg|path|line|circle|text)$/.test(name);
  const made = drawn ? page.createElementNS("http://www.w3.org/2000/svg", name) : page.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

class Plot {
  constructor(id, label) {
    this.host = find(id);
    this.readout = find(`${id}-readout`);
    this.label = label;
    this.host.classList.add("drawn");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "slider");
    this.host.setAttribute("aria-label", label);
    this.host.addEventListener("keydown", (event) => this.pressed(event));
    this.host.addEventListener("pointermove", (event) => event.pointerType === "mouse" && this.pointed(event, false));
    this.host.addEventListener("pointerleave", () => this.tell());
    this.host.addEventListener("click", (event) => this.pointed(event, true));
    plots.push(this);
  }

  draw() {
    this.width = Math.max(260, this.host.clientWidth);
    this.narrow = this.width < 560;
    this.svg = make("svg", { "aria-hidden": "true" });
    this.paint();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.cursor = make("path", { class: "cursor" });
    this.svg.append(this.cursor);
    this.host.replaceChildren(this.svg);
    this.move();
  }

  // To the chosen step.
  move() {
    this.cursor.setAttribute("d", this.outline());
    this.tell();
    const stops = this.stops();
    this.host.setAttribute("aria-valuemin", stops[0]);
    this.host.setAttribute("aria-valuemax", stops.at(-1));
    this.host.setAttribute("aria-valuenow", this.nearest(chosen));
    this.host.setAttribute("aria-valuetext", this.words(this.nearest(chosen)));
  }

  tell(step = this.nearest(chosen)) {
    this.readout.textContent = this.words(step);
  }

  nearest(step) {
    const stops = this.stops();
    let best = stops[0];
    for (const stop of stops) if (Math.abs(stop - step) < Math.abs(best - step)) best = stop;
    return best;
  }

  pointed(event, choosing) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.width / box.width;
    const step = this.stepAt((event.clientX - box.left) * scale, (event.clientY - box.top) * scale, choosing);
    if (choosing) choose(step, true);
    else this.tell(step);
  }

  pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const stops = this.stops();
    const here = stops.indexOf(this.nearest(chosen));
    const far = Math.max(1, Math.round(stops.length / 10));
    const moves = { ArrowRight: 1, ArrowLeft: -1, PageUp: far, PageDown: -far, Home: -stops.length, End: stops.length };
    if (event.key in moves) choose(stops[clamp(here + moves[event.key], 0, stops.length - 1)], true);
    else if (!this.turned(event.key)) return;
    event.preventDefault();
  }

  // Up and down, where there are rows.
  turned() {
    return false;
  }

  text(x, y, content, attributes = {}) {
    this.svg.append(make("text", { class: "tick", x, y, ...attributes }, content));
  }

  stroke(x1, y1, x2, y2, name = "grid") {
    this.svg.append(make("line", { class: name, x1, y1, x2, y2 }));
  }
}
