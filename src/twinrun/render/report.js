// Draws the plots of a report from the numbers that stand in the page, and joins them: a step that is chosen in one is
// chosen in all. Each plot is a slider over steps for the keyboard and for screen readers, and has a table beside it.
// Names come from strangers' programs: they become text, never markup.
"use strict";
{
  const page = document;
  const numbers = JSON.parse(page.getElementById("numbers").textContent);
  const KINDS = { "=": "equal", "~": "within", x: "different" };
  const WORDS = { ".": "not compared", "=": "equal", "~": "different, within the contract", x: "different" };
  const MOST_LINES = 6; // as many as the style sheet has colours for
  const NEAR = 10_000; // ULPs; of more, the absolute difference says all there is to say
  const plots = [];
  let chosen = numbers.first ?? numbers.last; // the step

  // --- small things

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

  // --- a plot: an SVG as wide as the page, with a cursor at the chosen step

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

  // --- rows of states over steps

  class Rows extends Plot {
    constructor(id, label, grid) {
      super(id, label);
      this.grid = grid;
      this.columns = grid.rows[0].states.length;
      this.before = grid.rows.some((row) => row.states[0] !== ".");
    }

    stops() {
      const steps = Array.from({ length: this.columns - 1 }, (_, n) => this.grid.start + n * this.grid.width);
      if (this.before || !steps.length) steps.unshift(Math.max(0, this.grid.start - 1));
      return steps;
    }

    column(step) {
      const { start, width } = this.grid;
      return step < start ? 0 : clamp(1 + Math.floor((step - start) / width), 0, this.columns - 1);
    }

    steps(step) {
      const { start, width } = this.grid;
      const column = this.column(step);
      if (column === 0) return start <= 1 ? "before the first step" : `before step ${count(start)}`;
      const first = start + (column - 1) * width;
      const last = Math.max(first, Math.min(first + width - 1, numbers.last));
      return first === last ? `step ${count(first)}` : `steps ${count(first)}–${count(last)}`;
    }

    paint() {
      const { rows, start } = this.grid;
      const labels = rows.map((row) => this.name(row));
      const most = this.narrow ? 12 : 34;
      this.left = 8 + 6.7 * Math.min(most, Math.max(...labels.map((label) => label.length)));
      this.top = 4;
      this.high = 15;
      this.bottom = this.top + rows.length * this.high;
      this.height = this.bottom + 18;
      this.aside = this.before ? Math.min(16, (this.width - this.left) / this.columns) : 0;
      this.gap = this.before && this.columns > 1 ? 3 : 0;
      this.wide = (this.width - this.left - this.aside - this.gap - 1) / Math.max(1, this.columns - 1);
      const paths = { "=": "", "~": "", x: "" };
      rows.forEach((row, number) => {
        const y = this.top + number * this.high;
        // Columns that are too narrow to be told apart are drawn as one.
        for (let from = 0, to; from < this.columns; from = to) {
          to = from + 1;
          while (this.wide <= 4 && from > 0 && to < this.columns && row.states[to] === row.states[from]) to++;
          const x = this.x(from);
          const end = this.x(to - 1) + this.size(to - 1);
          if (row.states[from] !== ".") paths[row.states[from]] += `M${x.toFixed(1)} ${y}H${end.toFixed(1)}v${this.high - 1}H${x.toFixed(1)}z`;
        }
        const label = labels[number].length > most ? `…${labels[number].slice(1 - most)}` : labels[number];
        this.text(this.left - 6, y + 11, label, { class: "label mono", "text-anchor": "end" });
      });
      for (const [state, d] of Object.entries(paths)) if (d) this.svg.append(make("path", { class: KINDS[state], d }));
      if (this.before && start > 1) this.text(this.left, this.bottom + 13, `< ${count(start)}`, { "text-anchor": "middle" });
      else if (this.before) this.text(this.left + this.aside / 2, this.bottom + 13, "0", { "text-anchor": "middle" });
      const least = this.before ? this.left + this.aside + 24 : 0;
      for (const step of ticks(start, start + (this.columns - 1) * this.grid.width - 1, this.narrow ? 4 : 8)) {
        const at = this.x(this.column(step)) + this.size(1) / 2;
        if (at > least && at < this.width - 8) this.text(at, this.bottom + 13, count(step), { "text-anchor": "middle" });
      }
    }

    x(column) {
      return column === 0 ? this.left : this.left + this.aside + this.gap + (column - 1) * this.wide;
    }

    size(column) {
      const size = column === 0 ? this.aside : this.wide;
      return size > 4 ? size - 1 : size;
    }

    outline() {
      const column = this.column(chosen);
      const wide = Math.max(3, this.size(column));
      return `M${this.x(column) - 1} ${this.top - 2}h${wide + 2}V${this.bottom + 1}h${-wide - 2}z`;
    }

    stepAt(x) {
      if (this.before && x < this.x(1) - this.gap / 2) return Math.max(0, this.grid.start - 1);
      const column = clamp(Math.floor((x - this.x(1)) / this.wide), 0, Math.max(0, this.columns - 2));
      return this.columns > 1 ? this.grid.start + column * this.grid.width : Math.max(0, this.grid.start - 1);
    }
  }

  class Steps extends Rows {
    name(row) {
      return row.phase;
    }

    words(step) {
      const column = this.column(step);
      const parts = [];
      for (const state of "x~=") {
        const names = this.grid.rows.slice(1).filter((row) => row.states[column] === state).map((row) => row.phase);
        if (names.length) parts.push(`${names.join(", ")} ${WORDS[state]}`);
      }
      return `${capital(this.steps(step))}: ${parts.join("; ") || "not compared"}`;
    }
  }

  class Layers extends Rows {
    constructor(id, label, grid) {
      super(id, label, grid);
      const firsts = grid.rows.map((row) => row.states.search(/[x~]/)).map((at) => (at < 0 ? Infinity : at));
      this.at = Math.max(0, firsts.indexOf(Math.min(...firsts))); // the row that differs first
    }

    name(row) {
      return row.phase === "weights" || row.phase === row.name ? row.name : `${row.phase} ${row.name}`.trim();
    }

    row(number) {
      return this.grid.rows[number];
    }

    words(step, at = this.at) {
      const row = this.row(at);
      const tensors = row.tensors > 1 ? ` (${count(row.tensors)} tensors)` : "";
      return `${capital(this.steps(step))}, ${this.name(row)}${tensors}: ${WORDS[row.states[this.column(step)]]}`;
    }

    tell(step = this.nearest(chosen)) {
      this.readout.textContent = this.words(step, this.under ?? this.at);
      this.under = undefined;
    }

    stepAt(x, y, choosing) {
      this.under = clamp(Math.floor((y - this.top) / this.high), 0, this.grid.rows.length - 1);
      if (choosing) this.at = this.under;
      return super.stepAt(x);
    }

    outline() {
      const y = this.top + this.at * this.high;
      return `${super.outline()}M${this.left} ${y - 0.5}H${this.width - 1}v${this.high}H${this.left}z`;
    }

    turned(key) {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (!(key in moves)) return false;
      this.at = clamp(this.at + moves[key], 0, this.grid.rows.length - 1);
      this.move();
      const box = this.host.parentElement;
      const y = this.top + this.at * this.high;
      if (y < box.scrollTop) box.scrollTop = y - this.high;
      else if (y + this.high > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * this.high - box.clientHeight;
      return true;
    }
  }

  // --- lines over steps

  class Lines extends Plot {
    stops() {
      const steps = new Set(this.drawn().flatMap((line) => line.steps));
      return [...steps].sort((a, b) => a - b);
    }

    paint() {
      const stops = this.stops();
      this.low = stops[0];
      this.last = Math.max(stops.at(-1), this.low + Math.max(1, this.low * 1e-9));
      this.left = 56;
      this.right = this.width - 12;
      this.top = 8;
      this.bottom = this.narrow ? 170 : 210;
      this.height = this.bottom + 32;
      this.scale();
      const marked = ticks(this.low, this.last, this.narrow ? 4 : 8);
      for (const step of [this.low, ...marked.filter((step) => this.x(step) > this.left + 28)]) {
        this.stroke(this.x(step), this.bottom, this.x(step), this.bottom + 3);
        const end = this.x(step) > this.right - 12;
        this.text(end ? this.width : this.x(step), this.bottom + 15, count(step), { "text-anchor": end ? "end" : "middle" });
      }
      this.text((this.left + this.right) / 2, this.bottom + 29, "step", { "text-anchor": "middle" });
      if (numbers.first !== null && numbers.first > this.low && numbers.first <= this.last) {
        this.stroke(this.x(numbers.first), this.top, this.x(numbers.first), this.bottom, "first");
      }
      for (const line of this.drawn()) this.trace(line);
    }

    tick(y, label) {
      this.stroke(this.left, y, this.right, y);
      this.text(this.left - 6, y + 4, label, { "text-anchor": "end" });
    }

    trace({ steps, values, colour, style = "" }) {
      let d = "";
      let open = false;
      const dots = steps.length <= 40 && !style;
      steps.forEach((step, number) => {
        const value = values[number];
        if (value === null) return (open = false);
        const x = this.x(step).toFixed(1);
        const y = this.y(value).toFixed(1);
        d += `${open ? "L" : "M"}${x} ${y}`;
        const alone = !open && (number + 1 === steps.length || values[number + 1] === null);
        open = true;
        if (dots || alone) this.svg.append(make("circle", { class: `dot line-${colour}`, cx: x, cy: y, r: 2.5 }));
      });
      this.svg.append(make("path", { class: `line line-${colour} ${style}`, d }));
    }

    x(step) {
      return this.left + ((step - this.low) / (this.last - this.low)) * (this.right - this.left);
    }

    outline() {
      return chosen < this.low || chosen > this.last ? "" : `M${this.x(chosen)} ${this.top}V${this.bottom}`;
    }

    stepAt(x) {
      return this.nearest(this.low + ((x - this.left) / (this.right - this.left)) * (this.last - this.low));
    }
  }

  class Growth extends Lines {
    constructor(id, label, lines) {
      super(id, label);
      this.lines = lines;
      this.unit = "abs";
      this.picked = lines.map((_, number) => number).slice(0, Math.min(4, MOST_LINES));
      this.rows = [...find("growth-picker").tBodies[0].rows];
      this.rows.forEach((row, number) => {
        const name = row.cells[0].firstElementChild;
        const button = make("button", { type: "button", id: `tensor-${number + 1}` });
        button.addEventListener("click", () => this.pick(number));
        button.addEventListener("keydown", (event) => this.stepped(event, number));
        name.replaceWith(button);
        button.append(name);
      });
      for (const radio of find("growth-unit").querySelectorAll("input")) {
        radio.addEventListener("change", () => {
          this.unit = radio.value;
          this.draw();
        });
      }
      find("growth-unit").hidden = !lines.some((line) => line.ulp.some((value) => value !== null));
      find("growth-table").hidden = false;
    }

    stepped(event, number) {
      const next = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!next) return;
      this.rows[clamp(number + next, 0, this.rows.length - 1)].querySelector("button").focus();
      event.preventDefault();
    }

    pick(number) {
      const at = this.picked.indexOf(number);
      if (at < 0) this.picked = [...this.picked.slice(1 - MOST_LINES), number];
      else if (this.picked.length > 1) this.picked.splice(at, 1);
      this.draw();
    }

    colours() {
      // A line keeps its colour for as long as it is drawn.
      const known = (this.known ?? new Map());
      const free = Array.from({ length: MOST_LINES }, (_, n) => n + 1).filter((colour) => !this.picked.some((each) => known.get(each) === colour));
      this.known = new Map(this.picked.map((each) => [each, known.get(each) ?? free.shift()]));
      return this.known;
    }

    drawn() {
      const colours = this.known ?? this.colours();
      return this.picked.map((number) => {
        const line = this.lines[number];
        return { name: line.name, steps: line.steps, values: line[this.unit], colour: colours.get(number), line };
      });
    }

    paint() {
      const colours = this.colours();
      this.rows.forEach((row, number) => {
        const colour = colours.get(number);
        if (colour) row.dataset.line = colour;
        else delete row.dataset.line;
        row.querySelector("button").setAttribute("aria-pressed", colour !== undefined);
      });
      super.paint();
      this.tabulate();
    }

    scale() {
      const values = this.drawn().flatMap((line) => line.values).filter((value) => value !== null);
      const positive = values.filter((value) => value > 0).map(Math.log10);
      this.floor = values.some((value) => value === 0) || !positive.length ? 14 : 0; // nought has no logarithm: it has a row of its own
      this.least = Math.floor(Math.min(...(positive.length ? positive : [0])));
      this.most = Math.max(this.least + 1, Math.ceil(Math.max(...(positive.length ? positive : [1]))));
      const stride = Math.max(1, Math.ceil((this.most - this.least) / 6));
      for (let power = this.least; power <= this.most; power += stride) {
        const label = power < 0 ? `1e-${String(-power).padStart(2, "0")}` : `1e+${String(power).padStart(2, "0")}`;
        this.tick(this.rise(power), power > -4 && power < 6 ? short(10 ** power) : label);
      }
      if (this.floor) this.tick(this.bottom, "0");
    }

    y(value) {
      return value > 0 ? this.rise(Math.log10(value)) : this.bottom;
    }

    rise(power) {
      const foot = this.bottom - this.floor;
      return foot - ((power - this.least) / (this.most - this.least)) * (foot - this.top);
    }

    words(step) {
      const parts = this.drawn().flatMap(({ name, line }) => {
        const at = line.steps.indexOf(step);
        if (at < 0) return [];
        const near = line.ulp[at] !== null && line.ulp[at] <= NEAR;
        const ulp = near || this.unit === "ulp" ? `, ${short(line.ulp[at])} ULP` : "";
        return [`${name} ${short(line.abs[at])}${ulp}`];
      });
      return `Step ${count(step)}: ${parts.join("; ") || "not measured"}`;
    }

    tabulate() {
      const body = find("growth-table").querySelector("tbody");
      body.replaceChildren();
      for (const { name, line } of this.drawn()) {
        line.steps.forEach((step, at) => {
          const cells = [name, short(line.abs[at]), short(line.ulp[at])];
          const row = make("tr", {}, make("th", { scope: "row" }, count(step)), make("td", {}, make("code", {}, cells[0])));
          row.append(make("td", { class: "number" }, cells[1]), make("td", { class: "number" }, cells[2]));
          body.append(row);
        });
      }
    }
  }

  class Curves extends Lines {
    constructor(id, label, curves, twins) {
      super(id, label);
      this.curves = curves;
      this.twins = twins;
      this.curve = curves[0];
      const choice = find("curves-choice");
      choice.hidden = curves.length < 2;
      curves.forEach((curve, number) => {
        const radio = make("input", { type: "radio", name: "curve", ...(number ? {} : { checked: "" }) });
        radio.addEventListener("change", () => {
          this.curve = curve;
          this.draw();
        });
        choice.append(make("label", {}, radio, curve.name));
      });
    }

    // The first twin is broad and the others are thin: where they cover it, all are seen.
    drawn() {
      return this.curve.values.map((values, number) => ({ steps: this.curve.steps, values, colour: (number % MOST_LINES) + 1, style: number ? "thin" : "broad" }));
    }

    scale() {
      const values = this.curve.values.flat().filter((value) => value !== null);
      let [low, high] = [Math.min(...values), Math.max(...values)];
      if (low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
      this.base = low - (high - low) * 0.04;
      this.peak = high + (high - low) * 0.04;
      for (const value of ticks(low, high, 5, true)) this.tick(this.y(value), short(value));
    }

    y(value) {
      return this.bottom - ((value - this.base) / (this.peak - this.base)) * (this.bottom - this.top);
    }

    words(step) {
      const at = this.curve.steps.indexOf(step);
      const values = this.curve.values.map((each) => each[at]);
      const shown = values.map((value, number) => `${this.twins[number] ?? number + 1} ${value ?? "no number"}`);
      const known = values.filter((value) => value !== null);
      const gap = Math.max(...known) - Math.min(...known);
      const apart = known.length < values.length ? "" : gap ? `, ${short(gap)} apart` : ", equal";
      return `Step ${count(step)}, ${this.curve.name}: ${shown.join(", ")}${apart}`;
    }
  }

  // --- where in a tensor elements differ

  class Elements {
    constructor(id, { shape, split, rows }) {
      this.host = find(id);
      this.readout = find(`${id}-readout`);
      this.shape = shape;
      this.split = split;
      this.rows = rows;
      this.sides = [shape.slice(0, split), shape.slice(split)].map((side) => side.reduce((a, b) => a * b, 1));
      this.at = [Math.max(0, rows.findIndex((row) => /[1-9]/.test(row))), 0];
      this.at[1] = Math.max(0, rows[this.at[0]].search(/[1-9]/));
      this.host.classList.add("drawn");
      this.host.tabIndex = 0;
      this.host.setAttribute("role", "img");
      this.host.setAttribute("aria-label", "Which elements of the tensor differ; arrow keys move over it");
      this.host.setAttribute("aria-describedby", this.readout.id);
      this.readout.setAttribute("aria-live", "polite");
      this.host.addEventListener("pointermove", (event) => this.pointed(event));
      this.host.addEventListener("click", (event) => this.pointed(event));
      this.host.addEventListener("keydown", (event) => {
        const [down, across] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
        if (!down && !across) return;
        this.to(this.at[0] + down, this.at[1] + across);
        event.preventDefault();
      });
      plots.push(this);
    }

    draw() {
      const [high, wide] = [this.rows.length, this.rows[0].length];
      const room = Math.max(200, this.host.clientWidth);
      this.cell = clamp(Math.floor((room - 44) / wide), 2, 16);
      this.tall = clamp(Math.floor(220 / high), 4, Math.max(8, this.cell));
      const width = 44 + wide * this.cell;
      this.height = 22 + high * this.tall;
      this.svg = make("svg", { "aria-hidden": "true", viewBox: `0 0 ${room} ${this.height}` });
      const paths = {};
      this.rows.forEach((row, y) => {
        [...row].forEach((digit, x) => {
          const d = `M${40 + x * this.cell} ${18 + y * this.tall}h${this.cell - (this.cell > 4)}v${this.tall - (this.tall > 4)}h${(this.cell > 4) - this.cell}z`;
          paths[digit] = (paths[digit] ?? "") + d;
        });
      });
      for (const [digit, d] of Object.entries(paths)) {
        const share = digit === "0" ? {} : { "fill-opacity": 0.25 + (0.75 * digit) / 9 };
        this.svg.append(make("path", { class: digit === "0" ? "equal" : "different", d, ...share }));
      }
      const label = (x, y, text, anchor) => this.svg.append(make("text", { class: "tick", x, y, "text-anchor": anchor }, text));
      label(34, 28, "0", "end");
      if (high > 1) label(34, this.height - 6, count(this.sides[0] - 1), "end");
      label(40, 12, "0", "start");
      if (wide > 1) label(width - 4, 12, count(this.sides[1] - 1), "end");
      this.cursor = make("path", { class: "cursor" });
      this.svg.append(this.cursor);
      this.host.replaceChildren(this.svg);
      this.to(...this.at);
    }

    move() {}

    pointed(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale - 40, (event.clientY - box.top) * scale - 18];
      this.to(Math.floor(y / this.tall), Math.floor(x / this.cell));
    }

    to(row, column) {
      const [high, wide] = [this.rows.length, this.rows[0].length];
      const [y, x] = (this.at = [clamp(row, 0, high - 1), clamp(column, 0, wide - 1)]);
      this.cursor.setAttribute("d", `M${39.5 + x * this.cell} ${17.5 + y * this.tall}h${this.cell}v${this.tall}h${-this.cell}z`);
      const share = Number(this.rows[y][x]);
      const words = share === 0 ? "equal" : share === 9 ? "different" : `up to ${Math.round((share * 100) / 8)}% different`;
      const places = [range(y, high, this.sides[0]), range(x, wide, this.sides[1])];
      this.readout.textContent = `${high > 1 ? `Down ${places[0]}, across ${places[1]}` : `Elements ${places[1]}`}: ${words}`;
    }
  }

  // The places that fall into one of so many cells.
  function range(cell, cells, length) {
    const first = Math.ceil((cell * length) / cells);
    const last = Math.ceil(((cell + 1) * length) / cells) - 1;
    return first >= last ? count(first) : `${count(first)}–${count(last)}`;
  }

  function ticks(low, high, most, fractions = false) {
    const raw = (high - low) / most || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    let stride = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.999);
    if (!fractions) stride = Math.max(1, Math.round(stride));
    const first = Math.ceil(low / stride);
    const found = Array.from({ length: 2 * most }, (_, n) => (first + n) * stride);
    return found.filter((value) => value >= low && value <= high).map((value) => (fractions ? Number(value.toPrecision(12)) : value));
  }

  const capital = (text) => text[0].toUpperCase() + text.slice(1);

  // --- the page

  function choose(step, linked) {
    chosen = step;
    for (const plot of plots) plot.move();
    if (!linked) return;
    try {
      history.replaceState(null, "", `#step-${step}`);
    } catch {
      // A viewer that shows the page in a sandbox may refuse: only the address stays as it was.
    }
  }

  function arrive() {
    const [, kind, number] = /^#(step|tensor)-(\d{1,15})$/.exec(location.hash) ?? [];
    if (kind === "step" && plots.length) {
      choose(Number(number), false);
      const place = find("steps-plot") ?? plots[0].host;
      place.closest("section").scrollIntoView();
      place.focus({ preventScroll: true });
    } else if (kind === "tensor" && growth && number <= growth.lines.length) {
      if (!growth.picked.includes(number - 1)) growth.pick(number - 1);
      find("growth").scrollIntoView();
      find(`tensor-${number}`).focus({ preventScroll: true });
    }
  }

  const sections = [...page.querySelectorAll("main > section")];

  function go(by) {
    const passed = sections.filter((section) => section.getBoundingClientRect().top <= 24).length - 1;
    const target = sections[clamp(passed + by, 0, sections.length - 1)];
    target.scrollIntoView();
    target.querySelector("h2").focus({ preventScroll: true });
  }

  page.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=radio], [type=checkbox])");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || !find("letters").checked) return;
    if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
    else if (event.key === "d" && numbers.first !== null && plots.length) location.hash = `#step-${numbers.first}`;
    else return;
    event.preventDefault();
  });

  if (numbers.elements) new Elements("elements", numbers.elements);
  if (numbers.steps) new Steps("steps-plot", "Step", numbers.steps);
  const growth = numbers.lines.length ? new Growth("growth-plot", "Distance at step", numbers.lines) : null;
  if (numbers.curves.length) new Curves("curves-plot", "Loss and metrics at step", numbers.curves, numbers.twins);
  if (numbers.layers) new Layers("layers-plot", "Layer and step", numbers.layers);

  let width = 0;
  new ResizeObserver(() => {
    if (width === find("main").clientWidth) return;
    width = find("main").clientWidth;
    for (const plot of plots) plot.draw();
  }).observe(find("main"));

  const links = new Map([...page.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const visible = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) visible[isIntersecting ? "add" : "delete"](target);
    const here = sections.find((section) => visible.has(section));
    for (const [id, link] of links) {
      if (id === here?.id) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "0px 0px -60% 0px" });
  for (const section of sections) observer.observe(section);
  find("keys").hidden = false;
  addEventListener("hashchange", arrive);
  for (const plot of plots) plot.draw();
  width = find("main").clientWidth;
  arrive();
}
