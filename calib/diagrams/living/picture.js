// The living picture: a reliability diagram of rows that are binned here, in the browser.
//
// Left all classes together, right each predicted class on its own, below every row as a dot. The data come from
// calib/diagrams/living_picture.py. The app mounts the default export as a component; reports call `mount`.
// Names come from users' files: they are drawn by fillText or set as textContent, never as HTML.

const MOST_BINS = 50;
const STEPS = 65535;
const FEW_ROWS = 20; // marks of cells with fewer rows are lighter
const JOINED = 5; // a line joins cells of at least so many rows of a class
const MORPH = 800; // milliseconds
const Z = 1.959963984540054; // of a 95 % interval
const LEAST_WIDTH = 1 / 500; // of a bin whose edge is dragged
const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

// ---------------------------------------------------------------------------------------------------- data

/** Edges of the cells that make up every equal-width binning of 2 to 50 bins, with 0 and 1. */
export function cellEdges() {
  const edges = new Set([0, 1]);
  for (let bins = 2; bins <= MOST_BINS; bins++) for (let j = 1; j < bins; j++) edges.add(j / bins);
  return [...edges].sort((a, b) => a - b);
}

/** Read what `living_picture` packed: its arrays by view, as entries that can be added up. */
export async function unpack(data) {
  const bytes = Uint8Array.from(atob(data.bytes), (letter) => letter.charCodeAt(0));
  const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = new Uint8Array(await new Response(unzipped).arrayBuffer());
  const raw = data.names.map(() => ({}));
  let start = 0;
  for (const [path, type, length] of data.columns) {
    const [view, name] = path.split(".");
    const values = new TYPES[type](length);
    const target = new Uint8Array(values.buffer);
    const width = values.BYTES_PER_ELEMENT;
    for (let plane = 0; plane < width; plane++) {
      for (let i = 0; i < length; i++) target[i * width + plane] = content[start + plane * length + i];
    }
    start += length * width;
    raw[Number(view)][name] = values;
  }
  const groups = data.by_class ? data.classes.length + (data.others ? 1 : 0) : 1;
  if (raw[1]?.order) refer(raw[1], raw[0]);
  const views = raw.map((columns, number) => viewOf(columns, data, groups, number));
  views.forEach((view, number) => (view.dots = dotsOf(raw[number], view, data)));
  return { ...data, bytes: null, groups, views };
}

function running(values) {
  for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
  return values;
}

/** Rows after calibration come as their places before it, with what changed in the order before. */
function refer(after, before) {
  for (const name of ["group", "right"]) {
    after[name] = Uint8Array.from(after.order, (row) => before[name][row] + after[name][row]);
  }
}

function viewOf(columns, data, groups, number) {
  const { group, right } = columns;
  const size = group.length;
  const view = { group, right, size, order: columns.order, effect: data.effect[number], fixes: new Map() };
  const x = new Float64Array(size);
  const score = new Float64Array(size);
  if (data.as_rows) {
    const step = running(columns.step);
    view.unit = STEPS;
    view.weight = columns.weight ?? new Uint8Array(size).fill(1);
    view.mass = running(columns.mass);
    for (let i = 0; i < size; i++) {
      x[i] = step[i] / STEPS;
      score[i] = view.weight[i] * step[i];
    }
  } else {
    const edges = cellEdges();
    const cell = running(columns.cell);
    view.unit = 1;
    view.count = columns.count;
    view.weight = columns.weight ?? columns.count;
    for (let i = 0; i < size; i++) {
      const width = edges[cell[i] + 1] - edges[cell[i]];
      x[i] = edges[cell[i]];
      score[i] = view.weight[i] * (x[i] + (columns.offset[i] / STEPS) * width);
    }
  }
  columns.fix.forEach((key, i) => view.fixes.set(key, [columns.fix_score[i], columns.fix_right?.[i]]));
  return { ...view, x, score };
}

/** Rows to be drawn, in the same order in every view. */
function dotsOf(columns, view, data) {
  if (!data.as_rows) {
    const step = columns.dot_step;
    if (!step) return null;
    return { x: Float64Array.from(step, (each) => each / STEPS), group: columns.dot_group, right: columns.dot_right };
  }
  if (!view.order) return view;
  const dots = { x: new Float64Array(view.size), group: new Uint8Array(view.size), right: new Uint8Array(view.size) };
  view.order.forEach((row, i) => {
    for (const name of ["x", "group", "right"]) dots[name][row] = view[name][i];
  });
  return dots;
}

/** Number of ascending values below an edge. */
export function below(values, edge) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < edge) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Bins of a view: their edges from 0 to 1, and where these cut its entries. */
export function binsOf(view, { mode, bins, edges = [], own = null }) {
  if (mode === "uniform") edges = Array.from({ length: bins - 1 }, (_, j) => (j + 1) / bins);
  if (mode === "uniform" || mode === "hand") {
    return { edges: [0, ...edges, 1], cuts: [0, ...edges.map((edge) => below(view.x, edge)), view.size] };
  }
  let cuts = own;
  if (mode === "mass" && view.mass) {
    const first = ((bins - 1) * (bins - 2)) / 2;
    cuts = [...view.mass.subarray(first, first + bins - 1)];
  } else if (mode === "mass") {
    cuts = massOfCells(view, bins);
  }
  cuts = cuts.filter((cut) => cut > 0 && cut < view.size);
  return { edges: [0, ...cuts.map((cut) => view.x[cut]), 1], cuts: [0, ...cuts, view.size] };
}

/** Cut sums into bins of nearly equal numbers of rows: of whole cells. */
function massOfCells(view, bins) {
  const total = view.count.reduce((sum, count) => sum + count, 0);
  const cuts = [];
  let rows = 0;
  for (let i = 1; i < view.size; i++) {
    rows += view.count[i - 1];
    const due = ((cuts.length + 1) * total) / bins;
    if (view.x[i] > view.x[i - 1] && rows >= due && cuts.length < bins - 1) cuts.push(i);
  }
  return cuts;
}

/** Add up the entries of each bin, for all groups together and for each group: means, counts, and weights. */
export function cellsOf(view, groups, cuts) {
  const bins = cuts.length - 1;
  const size = (groups + 1) * bins;
  const [count, weight, score, right, square] = Array.from({ length: 5 }, () => new Float64Array(size));
  for (let bin = 0; bin < bins; bin++) {
    for (let i = cuts[bin]; i < cuts[bin + 1]; i++) {
      const at = (view.group[i] + 1) * bins + bin;
      const w = view.weight[i];
      count[at] += view.count ? view.count[i] : 1;
      weight[at] += w;
      score[at] += view.score[i];
      if (view.right[i]) right[at] += w;
      square[at] += view.count ? (w * w) / view.count[i] : w * w;
    }
  }
  for (let at = bins; at < size; at++) {
    for (const sums of [count, weight, score, right, square]) sums[at % bins] += sums[at];
  }
  for (let at = 0; at < size; at++) {
    score[at] = score[at] / view.unit / weight[at];
    right[at] /= weight[at];
  }
  return { bins, count, weight, score, right, square };
}

/** `cellsOf`, with the means that the server sent for an equal-width or equal-mass binning. */
export function exactCells(view, groups, binning, { mode, bins }) {
  const cells = cellsOf(view, groups, binning.cuts);
  const place = { uniform: 0, mass: 1 }[mode];
  if (place === undefined || bins < 2) return cells;
  const first = (place * 64 + bins) * (groups + 1);
  for (let at = 0; at < cells.count.length; at++) {
    const fix = view.fixes.get((first + Math.floor(at / cells.bins)) * 64 + (at % cells.bins));
    if (fix) {
      cells.score[at] = fix[0];
      cells.right[at] = fix[1] ?? cells.right[at];
    }
  }
  return cells;
}

// ---------------------------------------------------------------------------------------------------- text

/** A number with some decimals, rounded as Python does: an exact tie goes to the even digit. */
export function fixed(value, decimals) {
  const halves = value * 2 ** (decimals + 1);
  if (Number.isInteger(halves) && halves % 2 !== 0) {
    const lower = Math.floor(value * 10 ** decimals);
    return ((lower % 2 === 0 ? lower : lower + 1) / 10 ** decimals).toFixed(decimals);
  }
  return value.toFixed(decimals);
}

export const percent = (value, decimals = 0) => `${fixed(100 * value, decimals)} %`;
const whole = (count) => Math.round(count).toLocaleString("en-US");

/** The ends of a range of confidence, with as many decimals as tell them apart. */
export function rangeText(lower, upper) {
  let decimals = 0;
  while (decimals < 3 && (100 * (upper - lower)) * 10 ** decimals < 2) decimals++;
  return `${fixed(100 * lower, decimals)} to ${fixed(100 * upper, decimals)} %`;
}

/** 95 % Wilson interval of a frequency of n effective rows. */
export function wilson(rate, n) {
  const scale = 1 + (Z * Z) / n;
  const centre = (rate + (Z * Z) / (2 * n)) / scale;
  const half = (Z / scale) * Math.sqrt((rate * (1 - rate)) / n + (Z * Z) / (4 * n * n));
  return [Math.max(centre - half, 0), Math.min(centre + half, 1)];
}

function shorten(name, length = 16) {
  return name.length <= length ? name : `${name.slice(0, length - 1)}\u2026`;
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// ------------------------------------------------------------------------------------------------- picture

/** The picture in an element of the page. */
class Picture {
  constructor(place, data, { onChoose = () => {}, onBins = () => {} }) {
    Object.assign(this, { place, data, onChoose, onBins });
    const { views } = data;
    this.binning = { mode: "uniform", bins: data.bins };
    this.view = data.view ?? 0; // that is shown, or morphed to
    this.shown = this.view; // from 0, before, to 1, after
    this.lit = null; // a bin
    this.near = null; // a cell of a class under the pointer: [group, bin]
    this.klass = null; // a group that is looked at
    this.brush = null; // a range: [lower, upper]
    this.chosen = null;
    this.direction = directions(views[0], data.groups);
    const smallest = Math.min(...views.map((view) => view.x[0] ?? 0));
    this.low = data.by_class ? Math.max(0, Math.floor(smallest * 20) / 20 - 0.01) : -0.015;
    this.jitter = Float32Array.from({ length: views[0].dots?.x.length ?? 0 }, (_, i) => hash(i));
    this.build();
    this.rebin();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(place);
  }

  build() {
    const { data } = this;
    const bar = element("div", { className: "bar" });
    if (data.names.length > 1) {
      this.switches = data.names.map((name, number) =>
        this.button(name, () => this.show(number), "switch"),
      );
      bar.append(element("div", { className: "buttons", role: "group", ariaLabel: "Calibration" }, ...this.switches));
    }
    const slider = element("input", { type: "range", min: 2, max: MOST_BINS, step: 1, value: data.bins });
    slider.setAttribute("aria-label", "Number of bins B");
    slider.addEventListener("input", () => this.setBins(Number(slider.value)));
    slider.addEventListener("change", () => this.onBins(Number(slider.value)));
    this.slider = slider;
    this.sliderText = element("span", { className: "b" });
    bar.append(element("label", { className: "slider" }, this.sliderText, slider));
    const modes = { uniform: "Equal widths", mass: "Equal mass" };
    if (Object.keys(data.own).length) modes.own = "The calibrator\u2019s own";
    this.modes = Object.entries(modes).map(([mode, words]) =>
      Object.assign(this.button(words, () => this.setMode(mode), "mode"), { value: mode }),
    );
    bar.append(element("div", { className: "buttons", role: "group", ariaLabel: "Bins" }, ...this.modes));
    if (data.by_class && data.classes.length) {
      this.menu = element("select", { ariaLabel: "Class" }, element("option", { value: "", textContent: "Every class" }));
      const names = data.classes.map((name, group) => [name, group]);
      for (const [name, group] of names.sort((a, b) => a[0].localeCompare(b[0]))) {
        this.menu.append(element("option", { value: group, textContent: shorten(name, 40) }));
      }
      this.menu.addEventListener("change", () => this.chooseClass(this.menu.value === "" ? null : Number(this.menu.value)));
      bar.append(this.menu);
    }
    this.words = element("p", { className: "words", role: "status" });
    this.canvas = element("canvas");
    this.stage = element("div", { className: "stage", tabIndex: 0, role: "slider" }, this.canvas);
    const name = "Reliability diagram. Arrows move from bin to bin, with shift they move its upper edge; enter chooses it.";
    this.stage.setAttribute("aria-label", name);
    this.stage.setAttribute("aria-valuemin", "1");
    this.note = element("p", { className: "note" });
    this.body = element("tbody");
    this.head = element("tr");
    const table = element("table", {}, element("thead", {}, this.head), this.body);
    this.numbers = element("details", {}, element("summary", { textContent: "The numbers of this picture" }),
      element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Table of the picture" }, table));
    this.numbers.addEventListener("toggle", () => this.fillTable());
    this.place.replaceChildren(bar, this.words, this.stage, this.note, this.numbers);
    this.noteText();
    this.listen();
  }

  button(words, act, className) {
    const made = element("button", { type: "button", textContent: shorten(words, 28), className });
    made.addEventListener("click", act);
    return made;
  }

  noteText() {
    const { data } = this;
    const dots = this.data.views[0].dots;
    const sides = data.event === null ? ["right", "wrong"] : [shorten(data.event), "not"];
    const parts = [];
    if (!dots) parts.push("These are sums over the rows of a summary, without single rows.");
    else if (data.as_rows) parts.push(`Every dot is a row: ${sides[0]} above the line, ${sides[1]} below it.`);
    else parts.push(`Sums are exact; the dots are ${whole(dots.x.length)} random rows of ${whole(data.rows)}.`);
    if (data.others) parts.push(`Pale: the sum of ${whole(data.others)} other classes.`);
    else if (data.by_class) parts.push("Orange: right less often than said; blue: more often.");
    parts.push("Drag a triangle to move an edge, or across the dots to choose a range.");
    this.note.textContent = parts.join(" ");
  }

  // Bins ----------------------------------------------------------------------------------------------

  rebin() {
    const { data, binning } = this;
    const own = data.own[this.klass ?? -1] ?? data.own[-1];
    this.bins = data.views.map((view, number) => binsOf(view, { ...binning, own: own?.[number] }));
    this.cells = data.views.map((view, number) => exactCells(view, data.groups, this.bins[number], binning));
    this.lit = this.lit !== null && this.lit < this.cells[this.view].bins ? this.lit : null;
    this.slider.value = binning.bins;
    this.sliderText.textContent = `B = ${this.cells[this.view].bins}`;
    for (const button of this.modes) {
      button.setAttribute("aria-pressed", String(button.value === binning.mode));
      if (button.value === "own") {
        button.disabled = !own;
        button.title = own ? "" : "Its bins differ from class to class: choose a class";
      }
    }
    this.tell();
  }

  setBins(bins) {
    this.binning = { mode: this.binning.mode === "mass" ? "mass" : "uniform", bins };
    this.lit = null;
    this.rebin();
  }

  setMode(mode) {
    this.binning = { mode, bins: this.binning.bins };
    this.lit = null;
    this.rebin();
  }

  moveEdge(number, to) {
    const edges = this.bins[this.view].edges.slice();
    const inner = Math.min(Math.max(to, edges[number - 1] + LEAST_WIDTH), edges[number + 1] - LEAST_WIDTH);
    if (!(inner > edges[number - 1] && inner < edges[number + 1])) return;
    edges[number] = this.data.as_rows ? (Math.floor(inner * STEPS) + 0.5) / STEPS : nearest(this.data.views, inner);
    this.binning = { mode: "hand", bins: this.binning.bins, edges: edges.slice(1, -1) };
    this.rebin();
  }

  show(number) {
    if (number === this.view) return;
    this.view = number;
    this.near = null;
    this.rebin();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const from = this.shown;
    cancelAnimationFrame(this.frame);
    const step = (now) => {
      const part = still ? 1 : Math.min(Math.max((now - begin) / MORPH, 0), 1);
      const eased = part < 0.5 ? 4 * part ** 3 : 1 - (2 - 2 * part) ** 3 / 2;
      this.shown = from + (number - from) * eased;
      this.draw();
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    if (still) step(begin);
    else this.frame = requestAnimationFrame(step);
  }

  // Words ---------------------------------------------------------------------------------------------

  /** Say what is lit, or what the picture shows; then draw. */
  tell() {
    const { data, view } = this;
    const cells = this.cells[view];
    this.words.replaceChildren();
    const add = (text, className = "") =>
      this.words.append(className ? element("b", { className, textContent: text }) : text);
    const range = this.brush ?? (this.lit === null ? null : this.rangeOf(this.lit));
    const [part, bin] = this.brush ? [this.sumsOf(range), 0] : [cells, this.lit];
    for (const [number, button] of (this.switches ?? []).entries()) button.setAttribute("aria-pressed", String(number === view));
    this.stage.setAttribute("aria-valuemax", String(cells.bins));
    this.stage.setAttribute("aria-valuenow", String((this.lit ?? 0) + 1));
    if (range === null && this.klass !== null) {
      const sums = this.sumsOf([0, 1]);
      const name = shorten(this.nameOf(this.klass));
      add(name, this.direction[this.klass] > 0 ? "more" : "less");
      add(`: told ${percent(sums.score[this.klass + 1], 1)} on average, ${percent(sums.right[this.klass + 1], 1)} `);
      add(`of ${whole(sums.count[this.klass + 1])} are right.`);
    } else if (range === null) {
      const what = data.event === null ? "often it is right" : `often ${shorten(data.event)} comes true`;
      add(`How ${what} at each ${data.event === null ? "confidence" : "probability"}: move over the picture.`);
    } else {
      add("Told ");
      add(rangeText(...range), "range");
      if (!part.count[bin]) add(": no rows.");
      else {
        const happens = data.event === null ? "are right" : "come true";
        add(`: ${percent(part.right[bin])} of ${whole(part.count[bin])} ${happens}.`);
        const named = this.spoken().filter((group) => part.count[(group + 1) * part.bins + bin]);
        named.forEach((group, number) => {
          const at = (group + 1) * part.bins + bin;
          add(number ? ", " : " ");
          add(`${shorten(this.nameOf(group))} ${percent(part.right[at])}`, this.direction[group] > 0 ? "more" : "less");
          add(` of ${whole(part.count[at])}`);
        });
        if (named.length) add(".");
      }
    }
    if (data.weighted && range !== null) add(" Rows are weighted.");
    this.stage.setAttribute("aria-valuetext", this.words.textContent);
    this.draw();
    if (this.numbers.open) this.fillTable();
  }

  /** Groups that the line above names. */
  spoken() {
    const extra = [this.klass, this.near?.[0]].filter((group) => group !== null && group !== undefined);
    return this.data.by_class ? [...new Set([...extra, ...this.data.named])] : [];
  }

  nameOf(group) {
    return this.data.classes[group] ?? `${whole(this.data.others)} other classes`;
  }

  rangeOf(bin) {
    const { edges } = this.bins[this.view];
    return [edges[bin], edges[bin + 1]];
  }

  cutsOf([lower, upper]) {
    const view = this.data.views[this.view];
    return [below(view.x, lower), upper >= 1 ? view.size : below(view.x, upper)];
  }

  sumsOf(range) {
    return cellsOf(this.data.views[this.view], this.data.groups, this.cutsOf(range));
  }

  fillTable() {
    if (!this.numbers.open) return;
    const cells = this.cells[this.view];
    const groups = this.spoken();
    const words = this.data.event === null ? ["Confidence", "Accuracy"] : ["Probability", "Frequency"];
    const heads = ["Bin", "Rows", `Mean ${words[0].toLowerCase()}`, words[1], ...groups.map((group) => this.nameOf(group))];
    this.head.replaceChildren(...heads.map((text) => element("th", { scope: "col", textContent: text })));
    const lines = [];
    for (let bin = 0; bin < cells.bins; bin++) {
      if (!cells.count[bin]) continue;
      const numbers = [whole(cells.count[bin]), fixed(cells.score[bin], 3), fixed(cells.right[bin], 3)];
      for (const group of groups) {
        const at = (group + 1) * cells.bins + bin;
        numbers.push(cells.count[at] ? `${fixed(cells.right[at], 3)} of ${whole(cells.count[at])}` : "\u2013");
      }
      const head = element("th", { scope: "row", textContent: rangeText(...this.rangeOf(bin)) });
      lines.push(element("tr", {}, head, ...numbers.map((text) => element("td", { textContent: text }))));
    }
    this.body.replaceChildren(...lines);
  }

  // Choice --------------------------------------------------------------------------------------------

  choose(range, group, bin) {
    const part = bin === null ? this.sumsOf(range) : this.cells[this.view];
    const count = part.count[((group ?? -1) + 1) * part.bins + (bin ?? 0)];
    if (!count) return;
    const label = group === null ? null : (this.data.codes[group] ?? null);
    const cuts = bin === null ? this.cutsOf(range) : this.bins[this.view].cuts.slice(bin, bin + 2);
    const [start, stop] = this.data.as_rows ? cuts : [null, null];
    const equal = this.binning.mode === "uniform" ? bin : null;
    this.chosen = { lower: range[0], upper: range[1], bin: equal, label, start, stop, view: this.view, count };
    this.onChoose(this.chosen);
    this.tell();
  }

  chooseClass(group) {
    this.klass = group;
    if (this.menu) this.menu.value = group ?? "";
    if (this.binning.mode === "own") this.lit = null;
    this.rebin();
    if (group !== null && this.data.codes[group] !== undefined) this.choose([0, 1], group, null);
  }

  // Pointer and keys ----------------------------------------------------------------------------------

  listen() {
    const { stage } = this;
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return this.hit(event.clientX - box.left, event.clientY - box.top, event.pointerType === "touch" ? 18 : 9);
    };
    stage.addEventListener("pointermove", (event) => {
      const hit = at(event);
      if (this.dragged) this.drag(hit);
      else this.hover(hit);
    });
    stage.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const hit = at(event);
      if (!hit.panel) return;
      stage.setPointerCapture(event.pointerId);
      const what = hit.edge !== null ? "edge" : hit.zone === "dots" ? "brush" : "click";
      this.dragged = { what, edge: hit.edge, from: hit.value, panel: hit.panel, x: hit.x };
      this.brush = null;
      this.hover(hit);
    });
    stage.addEventListener("pointerup", (event) => {
      const { dragged } = this;
      this.dragged = null;
      if (!dragged || dragged.what === "edge") return;
      if (this.brush) this.choose(this.brush, this.klass, null);
      else this.click(at(event));
    });
    stage.addEventListener("pointercancel", () => (this.dragged = null));
    stage.addEventListener("pointerleave", () => {
      if (this.dragged || document.activeElement === stage || stage.getRootNode().activeElement === stage) return;
      this.near = this.lit = null;
      this.tell();
    });
    stage.addEventListener("keydown", (event) => this.key(event));
  }

  /** What is under a point of the canvas. */
  hit(x, y, reach) {
    for (const panel of this.panels ?? []) {
      const value = panel.value(x);
      const inside = x > panel.x0 - 12 && x < panel.x1 + 12 && y > panel.y && y < panel.y + panel.height;
      if (!inside) continue;
      const zone = y > panel.strip[1] ? "edges" : y > panel.strip[0] ? "dots" : "plot";
      const { edges } = this.bins[this.view];
      let edge = null;
      if (zone === "edges") {
        for (let number = 1; number < edges.length - 1; number++) {
          const away = Math.abs(panel.px(edges[number]) - x);
          if (edges[number] > this.low && away < reach && (edge === null || away < Math.abs(panel.px(edges[edge]) - x))) edge = number;
        }
      }
      let near = null;
      if (zone === "plot" && panel.classes) {
        let closest = reach + 3;
        for (const mark of this.marks ?? []) {
          const away = Math.hypot(mark.x - x, mark.y - y) - mark.radius / 2;
          if (away < closest) [closest, near] = [away, mark.cell];
        }
      }
      return { panel, x, y, value: Math.min(Math.max(value, 0), 1), zone, edge, near };
    }
    return { panel: null, edge: null, near: null };
  }

  hover(hit) {
    this.stage.style.cursor = hit.edge !== null ? "ew-resize" : hit.zone === "dots" ? "crosshair" : hit.panel ? "pointer" : "";
    if (this.brush && !this.dragged) return;
    const lit = hit.panel ? binAt(this.bins[this.view].edges, hit.value) : null;
    const near = hit.near ?? null;
    if (lit === this.lit && String(near) === String(this.near)) return;
    [this.lit, this.near] = [lit, near];
    this.tell();
  }

  drag(hit) {
    if (!hit.panel) return;
    const { what, edge, from, x } = this.dragged;
    if (what === "edge") {
      this.moveEdge(edge, hit.value);
      this.lit = hit.value < this.bins[this.view].edges[edge] ? edge - 1 : edge;
      this.tell();
    } else if (what === "brush" && Math.abs(hit.x - x) > 3) {
      this.brush = [Math.min(from, hit.value), Math.max(from, hit.value)].map((value) =>
        value >= 0.9999 ? 1 : value <= 0 ? 0 : this.data.as_rows ? (Math.floor(value * STEPS) + 0.5) / STEPS : nearest(this.data.views, value),
      );
      this.tell();
    }
  }

  click(hit) {
    if (!hit.panel || hit.zone === "edges") return;
    const label = (this.labels ?? []).find((box) => hit.panel.classes && hit.x > box.x0 && hit.x < box.x1 && Math.abs(hit.y - box.y) < 10);
    if (label) this.chooseClass(label.group);
    else if (hit.near) this.choose(this.rangeOf(hit.near[1]), hit.near[0], hit.near[1]);
    else if (this.lit !== null) this.choose(this.rangeOf(this.lit), null, this.lit);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const { bins } = this.cells[this.view];
    if (event.key === "Escape") {
      this.brush = this.lit = this.near = null;
      this.chooseClass(null);
    } else if (step && event.shiftKey && this.lit !== null && this.lit + 1 < bins) {
      const { edges } = this.bins[this.view];
      this.moveEdge(this.lit + 1, edges[this.lit + 1] + step * 0.005);
    } else if (step) {
      this.brush = this.near = null;
      let lit = this.lit === null ? (step > 0 ? -1 : bins) : this.lit;
      const { count } = this.cells[this.view];
      do lit += step;
      while (lit >= 0 && lit < bins && !count[lit]);
      if (lit >= 0 && lit < bins) this.lit = lit;
    } else if ((event.key === "Enter" || event.key === " ") && this.lit !== null) {
      this.choose(this.rangeOf(this.lit), this.klass, this.lit);
    } else return;
    event.preventDefault();
    this.tell();
  }

  // Drawing -------------------------------------------------------------------------------------------

  /** Draw in the next frame. */
  draw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.paint();
    });
  }

  layout() {
    const width = Math.floor(this.place.clientWidth);
    const count = this.data.by_class ? 2 : 1;
    const beside = count === 2 && width >= 600;
    const gap = 20;
    const across = beside ? (width - gap) / 2 : Math.min(width, count === 1 ? 600 : width);
    const height = Math.round(across * 0.75);
    const panels = Array.from({ length: count }, (_, number) => {
      const left = beside ? number * (across + gap) : 0;
      const top = beside ? 0 : number * (height + 8);
      return this.panel(left, top, across, height, number === 1);
    });
    return { width: beside ? width : across, height: beside || count === 1 ? height : 2 * height + 8, panels };
  }

  panel(left, top, width, height, classes) {
    const [x0, x1] = [left + 48, left + width - 14];
    const strip = this.data.views[0].dots ? [top + 0.75 * height, top + height - 38] : [top + height - 44, top + height - 38];
    const [y1, y0] = [top + 36, strip[0] - 16];
    const low = this.low;
    const span = 1.012 - low;
    return {
      ...{ x0, x1, y0, y1, strip, classes, x: left, y: top, height, width },
      px: (value) => x0 + ((value - low) / span) * (x1 - x0),
      py: (value) => y0 + value * (y1 - y0),
      value: (x) => low + ((x - x0) / (x1 - x0)) * span,
    };
  }

  paint() {
    const { width, height, panels } = this.layout();
    if (width < 50) return;
    this.panels = panels;
    const ratio = window.devicePixelRatio || 1;
    const { canvas } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.colours = coloursOf(this.place);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const marks = this.marksNow();
    for (const panel of panels) this.paintFrame(pen, panel);
    this.paintDots(pen, panels, width, height, ratio);
    for (const panel of panels) {
      this.paintEdges(pen, panel);
      if (panel.classes) this.paintClasses(pen, panel, marks);
      else this.paintPooled(pen, panel, marks);
    }
  }

  /** Cells as they are drawn now: between both views while they morph. */
  marksNow() {
    const { shown, cells, data } = this;
    const first = cells[0];
    if (shown === 0 || shown === 1) {
      const one = cells[shown];
      return { ...one, most: largest(one, 0, 1), mostOfClass: largest(one, 1, data.groups + 1) };
    }
    const bins = Math.max(first.bins, cells[1].bins);
    const size = (data.groups + 1) * bins;
    const mixed = { bins, count: new Float64Array(size), score: new Float64Array(size), right: new Float64Array(size) };
    for (const name of ["weight", "square"]) mixed[name] = new Float64Array(size);
    for (let group = 0; group <= data.groups; group++) {
      for (let bin = 0; bin < bins; bin++) {
        const at = group * bins + bin;
        const [a, b] = cells.map((each) => (bin < each.bins ? group * each.bins + bin : -1));
        const [n0, n1] = [first.count[a] || 0, cells[1].count[b] || 0];
        for (const name of ["count", "weight", "square"]) {
          mixed[name][at] = (1 - shown) * (first[name][a] || 0) + shown * (cells[1][name][b] || 0);
        }
        for (const name of ["score", "right"]) {
          const [v0, v1] = [n0 ? first[name][a] : cells[1][name][b], n1 ? cells[1][name][b] : first[name][a]];
          mixed[name][at] = (1 - shown) * v0 + shown * v1;
        }
      }
    }
    return { ...mixed, most: largest(mixed, 0, 1), mostOfClass: largest(mixed, 1, data.groups + 1) };
  }

  paintFrame(pen, panel) {
    const { colours } = this;
    const lit = this.brush ?? (this.lit === null ? null : this.rangeOf(this.lit));
    const mine = this.chosen && this.chosen.view === this.view;
    const chosen = mine ? [this.chosen.lower, this.chosen.upper] : this.data.marked;
    for (const [range, colour] of [[chosen, colours.chosen], [lit, colours.lit]]) {
      if (!range || (range === chosen && range[0] === 0 && range[1] === 1)) continue;
      const left = panel.px(Math.max(range[0], this.low));
      pen.fillStyle = colour;
      pen.fillRect(left, panel.y1, Math.max(panel.px(range[1]) - left, 1), panel.strip[1] + 14 - panel.y1);
    }
    pen.font = `600 14px ${colours.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    pen.fillStyle = colours.ink;
    const { event, by_class } = this.data;
    const title = panel.classes ? "Each predicted class on its own" : by_class ? "All classes together" : event === null ? "How often it is right" : `How often it is ${shorten(event, 24)}`;
    pen.fillText(title, panel.x0, panel.y + 15);
    pen.font = `12px ${colours.font}`;
    pen.lineWidth = 1;
    pen.strokeStyle = colours.grid;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      const y = Math.round(panel.py(tick)) + 0.5;
      line(pen, [[panel.x0, y], [panel.x1, y]]);
      pen.fillStyle = colours.faint;
      pen.fillText(`${100 * tick}${tick === 1 ? " %" : ""}`, panel.x0 - 7, y);
    }
    pen.textAlign = "center";
    const step = (1 - this.low) * 100 > 60 && panel.width < 420 ? 20 : 10;
    for (let tick = Math.ceil(this.low * 10) * 10; tick <= 100; tick += 10) {
      if (tick % step === 0 && tick >= 0) pen.fillText(tick === 100 ? "100 %" : `${tick}`, Math.min(panel.px(tick / 100), panel.x1 - 4), panel.y + panel.height - 9);
    }
    pen.strokeStyle = colours.faint;
    pen.setLineDash([4, 4]);
    const from = Math.max(this.low, 0);
    line(pen, [[panel.px(from), panel.py(from)], [panel.px(1), panel.py(1)]]);
    pen.setLineDash([]);
    if (this.data.views[0].dots) {
      const middle = this.middle(panel);
      pen.strokeStyle = colours.grid;
      line(pen, [[panel.x0, middle], [panel.x1, middle]]);
      pen.textAlign = "right";
      const sides = event === null ? ["right", "wrong"] : ["yes", "no"];
      pen.fillText(sides[0], panel.x0 - 7, (panel.strip[0] + middle) / 2);
      pen.fillText(sides[1], panel.x0 - 7, (middle + panel.strip[1]) / 2);
    }
  }

  middle(panel) {
    return Math.round(panel.strip[0] + 0.56 * (panel.strip[1] - panel.strip[0])) + 0.5;
  }

  paintEdges(pen, panel) {
    const { edges } = this.bins[this.view];
    const y = panel.strip[1] + 7;
    edges.forEach((edge, number) => {
      if (edge < this.low || number === 0 || number === edges.length - 1) return;
      const x = panel.px(edge);
      const held = this.dragged?.edge === number;
      pen.fillStyle = held ? this.colours.accent : this.colours.handle;
      const size = held ? 7 : 5;
      pen.beginPath();
      pen.moveTo(x, y - size);
      pen.lineTo(x + size, y + size);
      pen.lineTo(x - size, y + size);
      pen.fill();
    });
  }

  /** Draw the rows; their pixels are set anew only if they move or the picture changes its size or theme. */
  paintDots(pen, panels, width, height, ratio) {
    if (!this.data.views[0].dots) return;
    const key = [width, height, ratio, this.shown, this.klass, this.colours.ink].join();
    const moved = this.dotsKey !== key;
    this.dotsKey = key;
    this.layers ??= panels.map(() => document.createElement("canvas"));
    panels.forEach((panel, number) => {
      const layer = this.layers[number];
      const [left, top] = [panel.x0 - 4, panel.strip[0]];
      const [across, down] = [panel.x1 - left + 8, panel.strip[1] - top];
      if (moved) this.setPixels(layer, panel, left, Math.ceil(across * ratio), Math.ceil(down * ratio), ratio);
      pen.drawImage(layer, left, top, layer.width / ratio, layer.height / ratio);
    });
  }

  /** Set the pixels of all rows: thousands of small rectangles would take longer than a frame. */
  setPixels(layer, panel, left, width, height, ratio) {
    const { shown, jitter, data } = this;
    if (layer.width !== width || layer.height !== height) {
      layer.width = width;
      layer.height = height;
      layer.image = new ImageData(width, height);
    }
    const pixels = new Uint32Array(layer.image.data.buffer).fill(0);
    const before = data.views[0].dots;
    const after = data.views.at(-1).dots;
    const now = shown < 0.5 ? before : after;
    const middle = (this.middle(panel) - panel.strip[0]) * ratio;
    const size = Math.max(Math.round(2 * ratio), 1);
    const [above, under] = [middle - 3 * ratio - size, height - middle - 3 * ratio - size];
    const origin = (panel.px(0) - left) * ratio - size / 2;
    const scale = (panel.px(1) - panel.px(0)) * ratio;
    const shades = panel.classes ? this.shades() : Array(data.groups).fill(this.colours.ink);
    const colours = shades.map(asPixel);
    const strength = jitter.length > 20000 ? 0.35 : 0.55;
    const denser = Uint32Array.from({ length: 256 }, (_, alpha) => Math.round(alpha + (255 - alpha) * strength) << 24);
    const pale = asPixel(this.colours.pale);
    for (const strong of panel.classes ? [false, true] : [true]) {
      for (let i = 0; i < jitter.length; i++) {
        const colour = colours[now.group[i]];
        if (panel.classes && (colour !== pale) !== strong) continue;
        const up = before.right[i] + shown * (after.right[i] - before.right[i]);
        const x = (origin + scale * (before.x[i] + shown * (after.x[i] - before.x[i]))) | 0;
        const y = (middle - up * (2 * ratio + size + jitter[i] * above) + (1 - up) * (3 * ratio + jitter[i] * under)) | 0;
        const first = Math.max(y, 0) * width + Math.min(Math.max(x, 0), width - size);
        for (let row = 0; row < size; row++) {
          for (let at = first + row * width, end = at + size; at < end; at++) pixels[at] = denser[pixels[at] >>> 24] | colour;
        }
      }
    }
    layer.getContext("2d").putImageData(layer.image, 0, 0);
  }

  /** Colour of each group: by direction if it is named or looked at. The last in the list is drawn on top. */
  shades() {
    const { colours, direction, data } = this;
    const named = this.klass === null ? data.named : [this.klass];
    const order = Array.from({ length: data.groups }, (_, group) =>
      !named.includes(group) ? colours.pale : direction[group] > 0 ? colours.more : colours.less,
    );
    return order;
  }

  paintPooled(pen, panel, cells) {
    const { colours, data } = this;
    const effect = data.views[this.view].effect;
    const points = [];
    for (let bin = 0; bin < cells.bins; bin++) {
      if (!cells.count[bin]) continue;
      const point = [panel.px(cells.score[bin]), panel.py(cells.right[bin])];
      points.push([point, bin]);
      const [low, high] = wilson(cells.right[bin], cells.weight[bin] ** 2 / cells.square[bin] / effect);
      pen.strokeStyle = colours.faint;
      line(pen, [[point[0], panel.py(low)], [point[0], panel.py(high)]]);
    }
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.75;
    line(pen, points.filter(([, bin]) => cells.count[bin] >= JOINED).map(([point]) => point));
    pen.lineWidth = 1;
    pen.fillStyle = colours.ink;
    for (const [[x, y], bin] of points) {
      pen.globalAlpha = bin === this.lit ? 1 : cells.count[bin] < FEW_ROWS ? 0.35 : 0.8;
      circle(pen, x, y, radius(cells.count[bin], cells.most) + (bin === this.lit ? 1 : 0));
    }
    pen.globalAlpha = 1;
  }

  paintClasses(pen, panel, cells) {
    const { colours, data } = this;
    const shades = this.shades();
    const strong = this.klass === null ? data.named : [this.klass];
    this.marks = [];
    this.labels = [];
    const groups = Array.from({ length: data.groups }, (_, group) => group);
    const order = [...groups.filter((group) => !strong.includes(group)), ...strong.slice().reverse()];
    for (const group of order) {
      const own = [];
      for (let bin = 0; bin < cells.bins; bin++) {
        const at = (group + 1) * cells.bins + bin;
        if (cells.count[at]) own.push({ bin, at, x: panel.px(cells.score[at]), y: panel.py(cells.right[at]), count: cells.count[at] });
      }
      pen.fillStyle = pen.strokeStyle = shades[group];
      if (strong.includes(group)) {
        pen.lineWidth = 1.75;
        line(pen, own.filter((each) => each.count >= JOINED).map(({ x, y }) => [x, y]));
        pen.lineWidth = 1;
      }
      for (const each of own) {
        const touched = String(this.near) === String([group, each.bin]);
        const size = radius(each.count, cells.mostOfClass) + (touched ? 2 : 0);
        pen.globalAlpha = touched ? 1 : !strong.includes(group) ? 0.4 : each.count < FEW_ROWS ? 0.4 : each.bin === this.lit ? 1 : 0.85;
        if (touched) pen.fillStyle = strong.includes(group) ? shades[group] : colours.faint;
        circle(pen, each.x, each.y, size);
        pen.fillStyle = shades[group];
        this.marks.push({ ...each, radius: size, cell: [group, each.bin] });
      }
      pen.globalAlpha = 1;
      if (strong.includes(group) && own.length) this.labels.push({ group, own });
    }
    this.paintLabels(pen, panel, cells.mostOfClass);
    if (this.near && !strong.includes(this.near[0])) {
      const mark = this.marks.find((each) => String(each.cell) === String(this.near));
      if (mark) this.text(pen, panel, shorten(this.nameOf(mark.cell[0])), mark.x, mark.y - 14, colours.ink);
    }
  }

  /** Write the name of each strong class left of its first dot of many rows; overlaps move up. */
  paintLabels(pen, panel, most) {
    const { colours } = this;
    const placed = [];
    const first = this.labels.map(({ group, own }) => {
      const many = Math.min(FEW_ROWS, Math.max(...own.map((each) => each.count)));
      return { group, ...own.find((each) => each.count >= many) };
    });
    pen.font = `600 13px ${colours.font}`;
    for (const label of first.sort((a, b) => b.y - a.y)) {
      const words = shorten(this.nameOf(label.group));
      const width = pen.measureText(words).width;
      const away = radius(label.count, most) + 6;
      let [x0, y] = [label.x - width - away, label.y];
      if (x0 < panel.x0 + 2 && y - away - 8 > panel.y1) [x0, y] = [panel.x0 + 2, y - away - 4];
      else if (x0 < panel.x0 + 2) x0 = label.x + away;
      while (placed.some((other) => Math.abs(other.y - y) < 16 && x0 < other.x1 && x0 + width > other.x0)) y -= 4;
      y = Math.max(y, panel.y + 26);
      const box = { group: label.group, x0, x1: x0 + width, y };
      placed.push(box);
      const colour = this.direction[label.group] > 0 ? colours.moreText : colours.lessText;
      this.text(pen, panel, words, x0 + width / 2, y, colour);
    }
    this.labels = placed;
  }

  text(pen, panel, words, x, y, colour) {
    pen.font = `600 13px ${this.colours.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const half = pen.measureText(words).width / 2;
    const at = Math.min(Math.max(x, panel.x0 + half), panel.x1 - half + 8);
    pen.strokeStyle = this.colours.surface;
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeText(words, at, y);
    pen.lineWidth = 1;
    pen.fillStyle = colour;
    pen.fillText(words, at, y);
  }

  /** Go on where a picture of the same classes was, before it got other data. */
  resume(former) {
    if (former?.data.classes.join("\n") !== this.data.classes.join("\n")) return;
    const { binning, klass, chosen } = former;
    if (binning.mode !== "own") Object.assign(this, { binning, klass, chosen });
    if (this.menu) this.menu.value = this.klass ?? "";
    this.rebin();
  }

  stop() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.pending);
  }
}

/** Sum of right minus confidence of each group: above 0 if it is right more often than it says. */
function directions(view, groups) {
  const gaps = new Float64Array(groups);
  for (let i = 0; i < view.size; i++) gaps[view.group[i]] += view.right[i] * view.weight[i] - view.score[i] / view.unit;
  return gaps;
}

function nearest(views, value) {
  const edges = cellEdges();
  const at = below(edges, value);
  return at && value - edges[at - 1] < edges[at] - value ? edges[at - 1] : edges[at];
}

function binAt(edges, value) {
  return Math.min(Math.max(below(edges, value + 1e-12) - 1, 0), edges.length - 2);
}

function largest(cells, from, to) {
  let most = 1;
  for (let at = from * cells.bins; at < to * cells.bins; at++) most = Math.max(most, cells.count[at]);
  return most;
}

const radius = (count, most) => 12 * Math.max((count / most) ** 0.25, 0.2);

/** A number in [0, 1) for each row, the same at every visit. */
function hash(i) {
  let mixed = Math.imul(i + 1, 2654435761);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 2246822519);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 4294967296;
}

/** The colour #rrggbb as a pixel without its opacity. */
function asPixel(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (blue << 16) | (green << 8) | red;
}

function line(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

function circle(pen, x, y, size) {
  pen.beginPath();
  pen.arc(x, y, size, 0, 2 * Math.PI);
  pen.fill();
}

/** Colours of the page's theme, and whether it is dark, which the stylesheet needs. */
function coloursOf(place) {
  const style = getComputedStyle(place);
  const own = (name) => style.getPropertyValue(name).trim();
  const surface = own("--st-background-color") || "#ffffff";
  const parts = surface.match(/^#(..)(..)(..)/)?.slice(1).map((each) => parseInt(each, 16)) ?? surface.match(/[\d.]+/g)?.map(Number) ?? [255, 255, 255];
  const dark = parts[0] * 0.3 + parts[1] * 0.6 + parts[2] * 0.1 < 128;
  if (place.dataset.dark !== String(dark)) place.dataset.dark = String(dark);
  const names = ["ink", "faint", "grid", "pale", "less", "more", "lit", "chosen", "handle", "accent"];
  const found = Object.fromEntries(names.map((name) => [name, own(`--picture-${name}`)]));
  return { ...found, surface, lessText: own("--picture-less-text"), moreText: own("--picture-more-text"), font: style.fontFamily };
}

// ---------------------------------------------------------------------------------------------- mounting

/** Show the picture in an element; the static figure then shows in print only. */
export async function mount(place, data, figure = null, options = {}) {
  const picture = new Picture(place, await unpack(data), options);
  figure?.classList.add("printed");
  return picture;
}

const mounted = new WeakMap();

/** Streamlit's component: mounted once, and told of other data or another number of bins. */
export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const place = parentElement.querySelector(".calib-picture");
  const options = {
    onChoose: (choice) => setTriggerValue("chosen", choice),
    onBins: (bins) => setTriggerValue("bins", bins),
  };
  const before = mounted.get(place);
  const known = { bytes: data.picture.bytes, given: data.bins, picture: before?.picture };
  mounted.set(place, known);
  if (before?.bytes === known.bytes) {
    known.picture = before.picture.then((picture) => {
      if (picture && before.given !== data.bins && data.bins !== picture.binning.bins) picture.setBins(data.bins);
      if (!picture) return null;
      picture.data.marked = data.marked;
      picture.draw();
      return Object.assign(picture, options);
    });
    return;
  }
  const old = before?.picture.then((picture) => (picture?.stop(), picture));
  known.picture = mount(place, { ...data.picture, ...data, picture: null }, null, options).catch((error) => {
    setTriggerValue("failed", String(error));
    return null;
  });
  old?.then((former) => known.picture.then((picture) => picture?.resume(former)));
}
