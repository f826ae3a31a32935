// Where in a tensor elements differ.

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
