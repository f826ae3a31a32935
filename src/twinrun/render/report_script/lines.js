// Lines over steps: how the distance grows, and what each twin's loss and metrics were.

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

function ticks(low, high, most, fractions = false) {
  const raw = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  let stride = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.999);
  if (!fractions) stride = Math.max(1, Math.round(stride));
  const first = Math.ceil(low / stride);
  const found = Array.from({ length: 2 * most }, (_, n) => (first + n) * stride);
  return found.filter((value) => value >= low && value <= high).map((value) => (fractions ? Number(value.toPrecision(12)) : value));
}
