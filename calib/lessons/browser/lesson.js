// The lesson: three chapters and six exercises, drawn in SVG. Texts and numbers come from calib/lessons/chapters.py.
// The app mounts the default export as a component, one HTML file calls `mount`. Names come from users' files: they
// are set as text, never as HTML. The address holds the state: step, guesses, votes and numbers, and no answers.

const SVG = "http://www.w3.org/2000/svg";
const MOST_DEALS = 1000;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function button(textContent, act, properties = {}) {
  const made = element("button", { type: "button", textContent, ...properties });
  made.addEventListener("click", act);
  return made;
}

const tab = (words, act, current) => button(words, act, { ariaCurrent: current ? "step" : null });

function shape(tag, attributes = {}, ...children) {
  const made = set(document.createElementNS(SVG, tag), attributes);
  made.append(...children);
  return made;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (node.getAttribute(name) !== `${value}`) node.setAttribute(name, value);
  return node;
}

const line = (node, [x1, y1], [x2, y2]) => set(node, { x1, y1, x2, y2 });
const label = (node, x, y, anchor = "middle") => set(node, { x, y, "text-anchor": anchor });

/** Move a mark; the stylesheet makes it a motion. */
function move(node, x, y, shown = true) {
  const style = `transform: translate(${x.toFixed(1)}px, ${y.toFixed(1)}px); opacity: ${shown ? 1 : 0};`;
  if (node.was !== style) node.style.cssText = node.was = style;
}

const starOf = (words) =>
  shape("g", { class: "star moves" }, shape("polygon", { points: "0,-14 4,-5 13,-4 6,2 8,11 0,6 -8,11 -6,2 -13,-4 -4,-5" }), shape("text", { class: "name" }, words));
const clip = (value, low, high) => Math.min(Math.max(value, low), high);
const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
const whole = (count) => count.toLocaleString("en-US");
const shorten = (name, length) => (name.length <= length ? name : `${name.slice(0, length - 1)}\u2026`);
const sideOf = (gap) => (Math.abs(gap) < 1e-9 ? "even" : gap < 0 ? "less" : "more");
const rightOf = (dot) => `${dot.right ?? percent(dot.accuracy)} of ${whole(dot.count)}`;

/** Gaps of calibrated classes with the counts and confidences of some dots: one deal of outcomes, by its seed. */
export function deal(dots, seed) {
  let state = Math.imul(seed, 2654435761);
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return dots.map(({ count, confidence }) => {
    let hits = 0;
    for (let row = 0; row < count; row++) hits += random() < confidence;
    return hits / count - confidence;
  });
}

/** A world of 100 patients: its star, whether this is on the line, and the mean error by group, in points. */
export function worldOf({ first, right, told }) {
  const sizes = [first, 100 - first];
  const gaps = sizes.map((size, group) => right[group] - (size * told) / 100);
  const star = right[0] + right[1];
  return { sizes, gaps, star, on: star === told, error: Math.abs(gaps[0]) + Math.abs(gaps[1]) };
}

/** The largest error by group of worlds with the same groups whose star is on the line. */
export function mostOf({ first, told }) {
  let most = 0;
  for (let of = Math.max(0, told + first - 100); of <= Math.min(first, told); of++) {
    most = Math.max(most, worldOf({ first, right: [of, told - of], told }).error);
  }
  return most;
}

/** Let the pointer and the arrow keys move a mark up and down, to whole numbers from 0 to `most`. */
function draggable(mark, root, { name, at, read, write, most }) {
  set(mark, { tabindex: 0, role: "slider", "aria-label": name, "aria-valuemin": 0, "aria-orientation": "vertical" });
  mark.classList.add("handle");
  const put = (value) => write(clip(Math.round(value), 0, most));
  mark.addEventListener("pointerdown", (event) => {
    mark.setPointerCapture(event.pointerId);
    root.classList.add("held");
    event.preventDefault();
    mark.focus({ preventScroll: true });
  });
  mark.addEventListener("pointermove", (event) => {
    const y = event.clientY - mark.ownerSVGElement.getBoundingClientRect().top;
    if (mark.hasPointerCapture(event.pointerId)) put(at(y) * most);
  });
  mark.addEventListener("lostpointercapture", () => root.classList.remove("held"));
  mark.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    const value = { Home: 0, End: most }[event.key] ?? (by && read() + by);
    if (value === undefined) return;
    event.preventDefault();
    put(value);
  });
}

const tell = (mark, value, most) => set(mark, { "aria-valuenow": value, "aria-valuemax": most, "aria-valuetext": `${value} of ${most}` });

// ------------------------------------------------------------------------------------------------ pictures

/** 100 patients as dots, and beside them both groups and the star over the confidence that all were told. */
class Crowd {
  /** `drag` is "groups", "star" or null: what can be dragged, which changes `world` and calls `changed`. */
  constructor(root, world, drag = null, changed = () => {}) {
    Object.assign(this, { world, drag });
    this.people = Array.from({ length: 100 }, () => shape("circle"));
    this.titles = Array.from({ length: 3 }, () => shape("text"));
    this.diagonal = shape("line", { class: "diagonal" });
    this.frame = shape("path", { class: "frame" });
    this.names = ["confidence told", "have it", "100\u00a0%", "0"].map((name, i) =>
      shape("g", { class: "axis" }, label(shape("text", { transform: `rotate(${i === 1 ? -90 : 0})` }, name), 0, 0)));
    this.links = [0, 1].map(() => shape("line"));
    this.star = starOf("");
    const marks = [shape("circle", { r: 11 }), shape("rect", { x: -10, y: -10, width: 20, height: 20 })];
    this.groups = marks.map((mark) => shape("g", { class: "group moves" }, mark, shape("text", { class: "name" })));
    const rest = [...this.names, ...this.titles, ...this.people, ...this.links, this.star, ...this.groups];
    this.svg = shape("svg", { role: drag ? "group" : "img" }, this.frame, this.diagonal, ...rest);
    const at = (y) => (this.bottom - y) / this.size;
    if (drag === "groups") {
      this.groups.forEach((mark, group) => {
        const name = `Patients told disease ${group + 1} who have it`;
        const write = (value) => changed((world.right[group] = value));
        draggable(mark, root, { name, at, read: () => world.right[group], write, most: worldOf(world).sizes[group] });
      });
    } else if (drag === "star") {
      const write = (value) => changed((world.star = value));
      draggable(this.star, root, { name: "All together: how many have it", at, read: () => world.star, write, most: 100 });
    }
  }

  draw(width, height, split) {
    const wide = width >= 620;
    const tall = wide ? height : 2 * height;
    set(this.svg, { width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    const lines = this.drawPeople(wide ? width * 0.45 : width, height, split);
    const size = Math.min(height - 44, wide ? width * 0.5 - 150 : width - 130);
    const x = wide ? width * 0.72 - size / 2 : (width - size) / 2;
    this.drawPlot(size, x, wide ? 18 : height - 2, split || this.drag !== null, !wide);
    set(this.svg, { "aria-label": lines.filter(Boolean).join(". ") });
  }

  /** Draw people in one block, those who have it first, or in a block for each group. */
  drawPeople(width, height, split) {
    const { sizes, gaps, star } = worldOf(this.world);
    const { right } = this.world;
    const cell = Math.min((height - 66) / 11.2, (width - 8) / 10.2, 60);
    const [left, top] = [Math.max(Math.min((width - 10 * cell) / 2, width - 270), 4), 30];
    const second = top + 30 + Math.ceil(sizes[0] / 10) * cell;
    this.people.forEach((mark, person) => {
      const group = person < sizes[0] ? 0 : 1;
      const inside = person - group * sizes[0];
      const ill = inside < right[group];
      const pooled = ill ? inside + group * right[0] : star + inside - right[group] + group * (sizes[0] - right[0]);
      const place = split ? inside : pooled;
      const down = split && group ? second : top;
      move(mark, left + ((place % 10) + 0.5) * cell, down + (Math.floor(place / 10) + 0.5) * cell);
      set(mark, { r: cell * 0.38, class: `person ${split ? sideOf(gaps[group]) : "even"}${ill ? " ill" : ""}` });
    });
    const lines = sizes.map((size, group) => (split ? `Told disease ${group + 1}: ${right[group]} of ${size} have it` : ""));
    lines.push(split ? "" : `All together: ${star} of 100 have it`);
    lines.forEach((words, i) => {
      this.titles[i].textContent = words;
      set(this.titles[i], { class: `title ${i < 2 ? sideOf(gaps[i]) : ""}` });
      move(this.titles[i], left, (i === 1 ? second : top) - 7);
    });
    return lines;
  }

  drawPlot(size, x0, y0, open, short) {
    const { world, drag } = this;
    const { sizes, gaps, star } = worldOf(world);
    const bottom = y0 + size;
    Object.assign(this, { size, bottom });
    set(this.frame, { d: `M${x0},${y0}V${bottom}H${x0 + size}` });
    line(this.diagonal, [x0, bottom], [x0 + size, y0]);
    [[x0 + size / 2, bottom + 20], [x0 - 10, y0 + size / 2], [x0 - 30, y0 + 5], [x0 - 10, bottom]].forEach((at, i) => move(this.names[i], ...at));
    const share = (world.star ?? star) / 100;
    const [across, up] = [x0 + (size * world.told) / 100, (value) => bottom - size * value];
    move(this.star, across, up(share));
    this.star.lastChild.textContent = `all: ${percent(share)}`;
    label(this.star.lastChild, ...(open ? [0, -20] : [20, 5, "start"]));
    this.groups.forEach((mark, group) => {
      const side = group ? 18 : -18;
      const rate = world.right[group] / sizes[group];
      const [x, y] = [open ? across + side : across, up(open ? rate : share)];
      const colour = sideOf(gaps[group]);
      move(mark, x, y, open);
      mark.classList.remove("less", "more", "even");
      mark.classList.add(colour);
      mark.lastChild.textContent = `${short ? "" : "disease "}${group + 1}: ${percent(rate)}`;
      label(mark.lastChild, side, 5, group ? "start" : "end");
      set(line(this.links[group], [across, up(share)], [x, y]), { class: `link ${colour}` });
      if (drag === "groups") tell(mark, world.right[group], sizes[group]);
    });
    if (drag === "star") tell(this.star, world.star, 100);
  }
}

/** A star, and the predicted classes of its bin: at its height until one is chosen, then where they belong. */
class Split {
  constructor(data, choose) {
    const { dots } = (this.data = data);
    this.ranks = [];
    [...dots.keys()].sort((a, b) => dots[a].accuracy - dots[b].accuracy).forEach((i, rank) => { this.ranks[i] = rank; });
    this.axis = [0, 25, 50, 75, 100].map((each) => shape("g", { class: "axis" }, shape("line"), shape("text", {}, `${each}\u00a0%`)));
    this.said = shape("g", { class: "told" }, shape("line"), shape("text", {}, `said ${percent(data.confidence)}`));
    this.star = starOf(`all ${whole(data.count)}: ${percent(data.accuracy)} right`);
    this.links = dots.map(() => shape("line"));
    const most = Math.max(...dots.map((dot) => dot.count));
    this.marks = dots.map((dot, i) => {
      const circles = [shape("rect", { class: "target" }), shape("circle", { r: 4 + 10 * Math.sqrt(dot.count / most) })];
      const texts = [shape("text", { class: "name" }), shape("text", { class: "count" })];
      const mark = shape("g", {}, shape("title", {}, dot.name), shape("line", { class: "whisker" }), ...circles, ...texts);
      mark.addEventListener("click", () => choose(i, mark.blur()));
      mark.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") choose(i, event.preventDefault());
      });
      return mark;
    });
    this.svg = shape("svg", { role: "group" }, ...this.axis, this.said, ...this.links, this.star, ...this.marks);
  }

  /** Draw shares upwards and classes side by side, or on a narrow page shares to the right and classes below each other. */
  draw(width, height, chosen) {
    const { confidence, accuracy, dots } = this.data;
    const open = chosen !== undefined;
    const wide = width >= 700;
    const step = wide ? (width - 222) / dots.length : 32;
    const tall = wide ? height : 116 + step * (dots.length - 1);
    const low = Math.min(Math.floor(4 * Math.min(...dots.map((dot) => dot.lower))), 3) / 4;
    const part = (value) => (value - low) / (1 - low);
    const share = wide ? (value) => tall - 34 - part(value) * (tall - 92) : (value) => 126 + part(value) * (width - 160);
    const at = (place, value) => (wide ? [206 + (place + 0.5) * step, share(value)] : [share(value), 74 + place * step]);
    const [start, end] = wide ? [-136 / step - 0.5, dots.length - 0.5] : [-50 / step, dots.length - 0.5];
    set(this.svg, { width, height: tall, viewBox: `0 0 ${width} ${tall}`, "aria-label": open ? "Classes at how often they are right" : "Classes at the height of the star" });
    this.axis.forEach((mark, quarter) => {
      const [x, y] = at(start, quarter / 4);
      mark.style.display = quarter / 4 < low ? "none" : "";
      line(mark.firstChild, [x, y], at(end, quarter / 4));
      label(mark.lastChild, ...(wide ? [62, y + 5, "end"] : [x, tall - 6]));
    });
    const [x, y] = at(start, confidence);
    line(this.said.firstChild, [x, y], at(end, confidence));
    label(this.said.lastChild, ...(wide ? [x + 4, y - 6, "start"] : [x, 14]));
    const star = at(wide ? start + 95 / step : -1, accuracy);
    move(this.star, ...star);
    const side = star[0] > width / 2 ? -20 : 20;
    label(this.star.lastChild, ...(wide ? [-80, 36, "start"] : [side, 5, side < 0 ? "end" : "start"]));
    this.marks.forEach((mark, i) => {
      const dot = dots[i];
      const place = open ? this.ranks[i] : i;
      const [cx, cy] = at(place, open ? dot.accuracy : accuracy);
      const ends = [dot.lower, dot.upper].map((value) => (open ? share(value) - share(dot.accuracy) : 0));
      const colour = open && (dot.upper < dot.confidence || dot.confidence < dot.lower) ? sideOf(dot.accuracy - dot.confidence) : "even";
      const above = wide ? Math.min(ends[1], -18) - 6 : 11;
      move(mark, cx, cy);
      set(mark.children[2], wide ? { x: -step / 2, y: -70, width: step, height: 100 } : { x: -cx, y: -16, width, height: 32 });
      line(mark.children[1], ...ends.map((shift) => (wide ? [0, shift] : [shift, 0])));
      const name = shorten(dot.name, wide ? Math.max(Math.floor(step / 7.5), 3) : 13);
      [i === chosen ? `\u2192 ${name}` : name, open ? rightOf(dot) : whole(dot.count)].forEach((words, row) => {
        mark.children[4 + row].textContent = words;
        set(label(mark.children[4 + row], ...(wide ? [0, above] : [4 - cx, above, "start"])), { dy: row ? 0 : "-1.05em" });
      });
      const told = open ? `${rightOf(dot)} right, said ${percent(dot.confidence)}` : `${whole(dot.count)} predictions`;
      set(mark, { class: `moves class ${colour}${open ? " open" : ""}`, role: open ? "img" : "button", tabindex: open ? -1 : 0, "aria-label": `${dot.name}: ${told}` });
      set(line(this.links[i], star, [cx, cy]), { class: `link ${colour}` }).style.opacity = open ? 0.5 : 0;
    });
  }
}

/** Gaps of the classes, as they are and in deals of outcomes of a perfect model. */
class Deals {
  constructor(data, number) {
    this.data = data;
    const gaps = data.dots.map((dot) => dot.accuracy - dot.confidence);
    this.columns = [gaps, ...Array.from({ length: number }, (_, i) => deal(data.dots, i + 1))];
    this.gap = Math.abs(gaps[data.worst]);
    this.isFar = (gap) => Math.abs(gap) >= this.gap - 1e-12;
    this.most = Math.max(...this.columns.flat().map(Math.abs));
    this.band = shape("rect", { class: "band" });
    const points = Math.round(100 * this.gap);
    this.lines = [`\u2212${points} points`, "as said", `+${points} points`].map((words) => shape("g", { class: "axis" }, shape("line"), shape("text", {}, words)));
    this.marks = this.columns.map((column) => column.map((gap, i) => {
      const name = shape("text", { class: "name" }, this.isFar(gap) ? shorten(data.dots[i].name, 9) : "");
      const colour = this.isFar(gap) ? sideOf(gap) : "even";
      return shape("g", { class: `moves dealt ${colour}` }, shape("title", {}, data.dots[i].name), shape("circle"), name);
    }));
    this.heads = this.columns.map((_, i) => label(shape("text", { class: "axis" }, i ? `${i}` : "data"), 0, 0));
    this.svg = shape("svg", { role: "img" }, this.band, ...this.lines, ...this.heads, ...this.marks.flat());
  }

  /** In how many of the first deals any class, and the worst one, are as far off. */
  count(deals) {
    const found = { any: 0, worst: 0 };
    for (let seed = 1; seed <= deals; seed++) {
      const gaps = this.columns[seed] ?? deal(this.data.dots, seed);
      found.any += gaps.some((gap) => this.isFar(gap));
      found.worst += this.isFar(gaps[this.data.worst]);
    }
    return found;
  }

  draw(width, height, dealt) {
    set(this.svg, { width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `Gaps of the classes: the data, and ${Math.min(dealt, this.columns.length - 1)} deals` });
    const { dots } = this.data;
    const [left, middle] = [width < 1000 ? 84 : 130, (height - 12) / 2];
    const up = (gap) => middle - (gap / this.most) * (middle - 34);
    const step = (width - left - 4) / this.columns.length;
    const largest = Math.max(...dots.map((dot) => dot.count));
    set(this.band, { x: left, y: up(this.gap), width: width - left, height: up(-this.gap) - up(this.gap) });
    this.lines.forEach(({ firstChild, lastChild }, i) => {
      const y = up((i - 1) * this.gap);
      line(firstChild, [left, y], [width, y]);
      label(lastChild, left - 6, y + 5, "end");
    });
    this.marks.forEach((marks, column) => {
      const shown = column <= dealt;
      const x = left + (column + 0.5) * step;
      move(this.heads[column], x, height - 8, shown);
      marks.forEach((mark, i) => {
        const gap = this.columns[column][i];
        move(mark, x + ((i % 5) - 2) * Math.min(step / 7, 10), up(shown ? gap : 0), shown);
        set(mark.children[1], { r: Math.min(step / 5, 10) * Math.sqrt(dots[i].count / largest) + 1 });
        label(mark.lastChild, column ? 0 : -8, gap > 0 ? -14 : 24, column ? "middle" : "start");
      });
    });
  }
}

// -------------------------------------------------------------------------------------------------- lesson

const answers = {}; // by exercise, what was said and whether it is right: kept while the page is open

class Lesson {
  constructor(place, content, kept) {
    Object.assign(this, { place, content, kept, guesses: {}, votes: {}, dealt: 0, voting: false, best: 0, exercise: 0, presenting: false });
    this.steps = content.chapters.flatMap((chapter, number) => chapter.steps.map((step) => ({ ...step, chapter, number, ...this.choices(step) })));
    this.keys = (event) => this.turnByKey(event);
    document.addEventListener("keydown", this.keys);
    this.observer = new ResizeObserver(() => this.draw());
    this.read(kept.read());
    this.observer.observe(place);
  }

  /** Names of what can be answered in a step, and the number of the right answer. */
  choices({ options, truth, picture }) {
    const data = { split: this.content.example, own: this.content.own }[picture];
    return data ? { data, names: data.dots.map((dot) => dot.name), truth: data.worst } : { names: options ?? [], truth: Number(truth) };
  }

  read(text) {
    const given = new URLSearchParams(text);
    const number = (value, most) => (/^\d{1,4}$/.test(value ?? "") && Number(value) <= most ? Number(value) : undefined);
    const numbers = (name, length, most) => {
      const found = (given.get(name) ?? "").split(",").map((each) => number(each, most));
      return found.length === length && !found.includes(undefined) ? found : undefined;
    };
    this.steps.forEach(({ picture, names }) => {
      this.guesses[picture] = number(given.get(`g.${picture}`), names.length - 1);
      this.votes[picture] = numbers(`v.${picture}`, names.length, 9999);
    });
    this.world = { first: 50, right: numbers("w", 2, 50) ?? [30, 30], told: 60 };
    this.dealt = number(given.get("d"), MOST_DEALS) ?? 0;
    const at = this.steps.findIndex(({ picture }) => picture === given.get("s"));
    this.at = given.get("s") === "exercises" ? this.steps.length : Math.max(at, 0);
    this.present(given.get("p") === "1");
  }

  state() {
    const found = [`s=${this.steps[this.at]?.picture ?? "exercises"}`];
    if (`${this.world.right}` !== "30,30") found.push(`w=${this.world.right}`);
    for (const { picture } of this.steps) {
      if (this.guesses[picture] !== undefined) found.push(`g.${picture}=${this.guesses[picture]}`);
      if (this.votes[picture]?.some(Boolean)) found.push(`v.${picture}=${this.votes[picture]}`);
    }
    if (this.dealt) found.push(`d=${this.dealt}`);
    if (this.presenting) found.push("p=1");
    return found.join("&");
  }

  go(at) {
    this.at = clip(at, 0, this.steps.length);
    this.show();
    this.title.focus({ preventScroll: true });
  }

  turnByKey(event) {
    const act = { PageDown: () => this.go(this.at + 1), PageUp: () => this.go(this.at - 1), Escape: () => this.present(false) }[event.key];
    if (!act || !this.presenting) return;
    event.preventDefault();
    act();
  }

  /** Fill the window, above everything else on the page, with pictures and questions only. */
  present(on) {
    this.presenting = on;
    this.place.classList.toggle("presenting", on);
    this.place.popover = on ? "manual" : null;
    if (on) this.place.showPopover?.();
    this.show();
  }

  show() {
    const { content, at, steps, presenting } = this;
    const step = steps[at];
    const chapters = content.chapters.map(({ name }, number) => {
      const first = steps.findIndex((each) => each.number === number);
      return tab(`${number + 1}. ${name}`, () => this.go(first), step?.number === number);
    });
    const tools = element("div", { className: "row" });
    if (step?.names.length) tools.append(button("Count votes", () => { this.voting = !this.voting; this.show(); }, { ariaPressed: this.voting }));
    tools.append(button(presenting ? "End" : "Present", () => this.present(!presenting), { title: "Pictures and questions only: Page Down, Page Up, Escape" }));
    const tabs = element("div", { className: "row" }, ...chapters, tab("Exercises", () => this.go(steps.length), !step));
    const bar = element("nav", { className: "row apart", ariaLabel: "Lesson" }, tabs, tools);
    this.title = element("h1", { textContent: step ? step.chapter.title : "Exercises", tabIndex: -1 });
    this.stage = element("div", { className: "stage" });
    this.controls = element("div", { className: "row controls" });
    this.counted = element("p", { className: "counted", role: "status" });
    this.said = element("p", { className: "said", role: "status" });
    this.scene = null;
    const body = step ? this.stepBody(step) : this.exerciseBody();
    const turn = element("div", { className: "row apart" });
    if (at > 0) turn.append(button("\u2190 Back", () => this.go(at - 1)));
    if (step) turn.append(button("Next \u2192", () => this.go(at + 1), { className: "next" }));
    this.place.replaceChildren(bar, this.title, ...body, turn);
    this.draw();
  }

  stepBody(step) {
    const { content } = this;
    const { picture, data, chapter } = step;
    const guess = (choice) => {
      if (this.guesses[picture] !== undefined) return;
      this.guesses[picture] = choice;
      this.mark(step);
      this.draw();
    };
    this.options = element("div", { className: "row", role: "group", ariaLabel: "Answers" }, ...(step.options ?? []).map((words, choice) => button(words, () => guess(choice))));
    this.ballot = element("div", { className: "votes" });
    if (data) this.scene = new Split(data, guess);
    else if (picture === "crowd") this.scene = new Crowd(this.place, { first: 50, right: [10, 50], told: 60 });
    else if (picture === "make") this.scene = new Crowd(this.place, this.world, "groups", () => this.draw());
    else this.makeDeals();
    this.stage.append(this.scene.svg);
    this.mark(step);
    const rest = data?.others ? `; ${whole(data.others)} classes with fewer rows are not drawn` : "";
    const source = picture === "own" ? `${data.title}: ${whole(data.count)} predictions${rest}.` : chapter.paper;
    const ask = element("p", { className: "ask", textContent: step.ask });
    return [ask, this.options, this.stage, this.controls, this.ballot, this.counted, this.said, element("p", { className: "paper", textContent: source })];
  }

  makeDeals() {
    const { example, deals } = this.content;
    this.scene = new Deals(example, deals);
    const to = (number) => () => { this.dealt = number(); this.draw(); };
    this.controls.append(button("Deal once", to(() => Math.min(this.dealt + 1, deals))));
    for (const number of [deals, MOST_DEALS]) this.controls.append(button(`Deal ${whole(number)} times`, to(() => number)));
  }

  /** Draw the picture for the room on the page, and say what it shows. */
  draw() {
    const [step, width] = [this.steps[this.at], this.stage.clientWidth];
    if (step) this.say(step);
    if (this.scene && width) {
      const others = [...this.place.children].filter((child) => child !== this.stage);
      const rest = others.reduce((sum, child) => sum + child.offsetHeight + 4, this.presenting ? 40 : this.kept.above);
      const guess = this.guesses[step?.picture];
      const shown = step?.data ? guess : { crowd: guess !== undefined, deals: this.dealt }[step?.picture] ?? true;
      this.scene.draw(width, clip(window.innerHeight - rest, 260, 0.5 * width + 120), shown);
    }
    this.save();
  }

  /** Keep the state once it has come to rest: browsers refuse to write it for every move of a drag. */
  save() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.place.isConnected && this.kept.write(this.state()), 150);
  }

  say({ picture, data, words }) {
    const guess = this.guesses[picture];
    let [said, counted] = [guess === undefined ? "" : words, ""];
    if (guess !== undefined && data) {
      const [own, worst] = [data.dots[guess], data.dots[data.worst]];
      const first = own === worst ? `${worst.name}, yes` : `You chose ${own.name}: right ${rightOf(own)}. Clearest is ${worst.name}`;
      said = `${first}: right ${rightOf(worst)}. ${words}`;
    }
    if (picture === "make") {
      const { star, on, error } = worldOf(this.world);
      if (on) this.best = Math.max(this.best, error);
      const place = on ? "on the line" : `${Math.abs(star - this.world.told)} points off the line`;
      counted = `Star: ${place}. A patient's number is off by ${error.toFixed(0)} points on average. Your best with the star on the line: ${this.best.toFixed(0)}; possible here: ${mostOf(this.world).toFixed(0)}.`;
    } else if (picture === "deals" && this.dealt) {
      const { any, worst } = this.scene.count(this.dealt);
      const { dots, worst: at } = this.content.example;
      counted = `${whole(this.dealt)} deals: a class so far off in ${any}, ${dots[at].name} in ${worst}.`;
    }
    this.counted.textContent = counted;
    this.said.textContent = said;
  }

  /** Mark the answer that was chosen and the right one, and show the hands for each answer. */
  mark({ picture, names, truth }) {
    const guess = this.guesses[picture];
    [...this.options.children].forEach((each, choice) => {
      const className = guess !== undefined && choice === truth ? "truth" : "";
      Object.assign(each, { disabled: guess !== undefined, className, ariaPressed: choice === guess });
    });
    if (!names.length || !(this.voting || this.votes[picture]?.some(Boolean))) return this.ballot.replaceChildren();
    const votes = (this.votes[picture] ??= names.map(() => 0));
    const bars = names.map((name) => element("progress", { ariaLabel: `Hands for ${name}` }));
    const resize = () => bars.forEach((bar, i) => Object.assign(bar, { max: Math.max(...votes, 1), value: votes[i] }));
    this.ballot.replaceChildren(...names.map((name, i) => {
      const input = element("input", { type: "number", min: 0, max: 9999, value: votes[i], ariaLabel: `Number of hands for ${name}` });
      input.addEventListener("input", () => {
        votes[i] = clip(Math.round(Number(input.value)) || 0, 0, 9999);
        resize();
        this.save();
      });
      const isTruth = guess !== undefined && i === truth;
      const words = element("span", { textContent: `${isTruth ? "\u2713 " : ""}${shorten(name, 24)}` });
      return element("label", { className: isTruth ? "truth" : "" }, words, input, bars[i]);
    }));
    resize();
  }

  exerciseBody() {
    const { exercises } = this.content;
    const exercise = exercises[this.exercise];
    const turn = (number) => () => { this.exercise = number; this.show(); };
    const tabs = exercises.map((_, i) => tab(`${i + 1}${answers[i]?.at(-1).right ? " \u2713" : ""}`, turn(i), i === this.exercise));
    const places = element("div", { className: "row", role: "group", ariaLabel: "Exercises" }, ...tabs, tab("Summary", turn(exercises.length), !exercise));
    if (!exercise) return [places, ...this.summary()];
    const check = (said, [right, reason]) => {
      (answers[this.exercise] ??= []).push({ said, right });
      Object.assign(this.said, { textContent: `${right ? "Right" : "Not yet"}: ${reason}`, className: `said ${right ? "right" : "wrong"}` });
      if (right && !this.controls.querySelector(".next")) this.controls.append(button("Go on", turn(this.exercise + 1), { className: "next" }));
    };
    const { kind, options, unit } = exercise;
    if (kind === "choose") {
      this.controls.append(...options.map((words, choice) => button(words, () => check(words, judge(exercise, choice)))));
    } else if (kind === "number") {
      const input = element("input", { type: "number", step: "any", ariaLabel: "Your number" });
      const go = () => input.value !== "" && check(`${input.value} ${unit}`, judge(exercise, Number(input.value)));
      input.addEventListener("keydown", (event) => event.key === "Enter" && go());
      this.controls.append(element("label", {}, input, unit), button("Check", go));
    } else {
      const [first, right1, right2, told] = exercise.world;
      const world = { first, right: [right1, right2], told, ...(kind === "star" ? { star: 55 } : {}) };
      this.scene = new Crowd(this.place, world, kind, () => this.draw());
      this.stage.append(this.scene.svg);
      const said = () => (kind === "star" ? `${world.star}\u00a0%` : `${world.right[0]} of ${first}, ${world.right[1]} of ${100 - first}`);
      this.controls.append(button("Check", () => check(said(), kind === "star" ? judge(exercise, world.star) : judgeWorld(exercise, world))));
    }
    return [places, element("p", { className: "ask", textContent: exercise.ask }), this.stage, this.controls, this.said];
  }

  summary() {
    const rows = this.content.exercises.map(({ ask }, i) => {
      const given = answers[i] ?? [];
      const right = given.findIndex((each) => each.right) + 1;
      const result = right ? `right at try ${right}` : given.length ? "not yet right" : "not answered";
      const said = [...given.map((each) => each.said), result].join(" \u2192 ");
      return element("li", {}, ask, element("br"), element("b", {}, said));
    });
    const list = element("ol", { className: "summary" }, ...rows);
    return [list, element("div", { className: "row" }, button("Save the summary (HTML)", () => this.saveSummary(list), { className: "next" }))];
  }

  saveSummary(list) {
    const page = document.implementation.createHTMLDocument(this.content.title);
    const style = "body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; } li { margin: 1rem 0; }";
    page.head.prepend(set(element("meta"), { charset: "utf-8" }));
    page.head.append(element("style", {}, style));
    page.body.append(element("h1", {}, this.content.title), list.cloneNode(true));
    const html = `<!DOCTYPE html>${page.documentElement.outerHTML}`;
    element("a", { href: `data:text/html;charset=utf-8,${encodeURIComponent(html)}`, download: "lesson-summary.html" }).click();
  }

  stop() {
    this.observer.disconnect();
    document.removeEventListener("keydown", this.keys);
  }
}

/** Whether a choice or a number is the answer of an exercise, and a reason. */
export function judge({ answer, tolerance = 0, right, wrong = [], reasons = [], other }, value) {
  if (Math.abs(value - Number(answer)) <= tolerance) return [true, right];
  const found = wrong.find(({ from, to }) => Number(from) <= value && value <= Number(to));
  return [false, reasons[value] ?? found?.reason ?? other];
}

/** Whether a world is as wrong as possible with its star on the line, and a reason. */
export function judgeWorld({ right, off, less, other }, world) {
  const { on, error } = worldOf(world);
  if (!on) return [false, off];
  if (error > mostOf(world) - 1e-9) return [true, right];
  return [false, world.right[0] === world.first ? other : less];
}

// ------------------------------------------------------------------------------------------------ mounting

let last = ""; // the state when the app's page was left

/** Where the state is kept: behind # of a file, in a parameter of the app. `above` is the height of what is above. */
const KEPT = {
  file: { above: 40, read: () => location.hash.slice(1), write: (state) => history.replaceState(history.state, "", `#${state}`) },
  app: {
    above: 190,
    read: () => new URLSearchParams(location.search).get("at") ?? last,
    write: (state) => {
      const address = new URL(location.href);
      last = state;
      address.searchParams.set("at", state);
      history.replaceState(history.state, "", address);
    },
  },
};

/** Show the lesson in an element of the page. */
export const mount = (place, content, kept = KEPT.file) => new Lesson(place, content, kept);

const mounted = new WeakMap();

/** Streamlit's component: mounted once, and anew for other predictions of one's own. */
export default function (component) {
  const place = component.parentElement.querySelector(".calib-lesson");
  const given = JSON.stringify(component.data.content);
  const before = mounted.get(place);
  if (before?.given === given) return;
  before?.lesson.stop();
  mounted.set(place, { given, lesson: mount(place, component.data.content, KEPT.app) });
}
