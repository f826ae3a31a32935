// Joins the plots with the page: what is drawn, its address, its keys, and the list of its sections.

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
