// Rows of states over steps: what was equal, phase by phase and layer by layer.

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
