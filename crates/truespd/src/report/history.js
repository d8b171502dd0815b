// The page over a history: finds, filters and draws kept results. Words of results are written as text, never as markup.
const GROUPS = [["host", "host"], ["model", "disk model"], ["firmware", "model and firmware"], ["kernel", "kernel"], ["machine", "machine type"], ["filesystem", "file system"]];
const ROWS_FIRST = 12;
const LIST_FIRST = 20;
const MARKS_MAX = 24;
// Columns of the list that hold words: host, disk, label, verdict, document.
const TEXT_COLUMNS = [1, 2, 5, 6, 7];
// Clocks that say a year before this, or a day after the page was made, are wrong.
const OLDEST_S = 946684800;

const make = (name, attributes = {}, ...inside) => {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in one && key !== "list" && key !== "role") one[key] = value; else one.setAttribute(key, value);
  }
  one.append(...inside);
  return one;
};
const draw = (name, attributes, text) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== undefined) one.textContent = text;
  return one;
};
const count = (number) => number.toLocaleString("en-US");
const many = (number, one) => count(number) + " " + one + (number === 1 ? "" : "s");
const short = (text, length) => (text.length > length ? text.slice(0, Math.max(1, length - 1)) + "\u2026" : text);
const stamp = (seconds) => {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "at " + seconds + " s" : date.toISOString().slice(0, 16).replace("T", " ");
};
const scaled = (value, steps) => {
  const [size, unit] = steps.find(([size]) => value >= size) || steps[steps.length - 1];
  const number = value / size;
  const digits = number >= 1e6 ? number.toExponential(2) : number >= 99.95 ? count(Math.round(number)) : String(+number.toPrecision(3));
  return digits + unit;
};
const STEPS = {
  axis: [[1e6, " M"], [1e3, " k"], [1, ""]],
  "per second": [[1e6, " M"], [1, ""]],
  bytes: [[2 ** 20, " MiB/s"], [2 ** 10, " KiB/s"], [1, " B/s"]],
  ns: [[1e9, " s"], [1e6, " ms"], [1e3, " \u00b5s"], [1, " ns"]],
};
const percent = (part) => (part * 100).toFixed(part > 0.995 && part < 1 ? 1 : 0) + " %";
const quantile = (sorted, part) => {
  const place = (sorted.length - 1) * part, below = Math.floor(place), rest = place - below;
  return rest === 0 ? sorted[below] : sorted[below] * (1 - rest) + sorted[below + 1] * rest;
};
// How many of a sorted list are below a value, and how many are equal.
const standing = (sorted, value) => {
  const first = (wanted) => {
    let low = 0, high = sorted.length;
    while (low < high) { const middle = (low + high) >> 1; if (wanted(sorted[middle])) high = middle; else low = middle + 1; }
    return low;
  };
  const below = first((one) => one >= value);
  return [below, first((one) => one > value) - below];
};
// An axis: even, or by powers of ten where values differ by much.
const axisOf = (least, most, ticksMax) => {
  const logarithmic = least > 0 && most / least > 20;
  const [to, back] = logarithmic ? [Math.log10, (x) => 10 ** x] : [(x) => x, (x) => x];
  let [low, high] = [to(least), to(most)];
  const room = (high - low) * 0.04 || Math.abs(high) * 0.05 || 1;
  low = !logarithmic && low > 0 && low - room < 0 ? 0 : low - room;
  high += room;
  const ticks = [];
  if (logarithmic) {
    const step = Math.max(1, Math.ceil((high - low) / ticksMax));
    for (let power = Math.ceil(low); power <= high; power += step) ticks.push(10 ** power);
    if (ticks.length < 3) for (let power = Math.floor(low); power <= high; power += 1) for (const part of [2, 5]) if (to(part * 10 ** power) >= low && to(part * 10 ** power) <= high) ticks.push(part * 10 ** power);
    if (ticks.length > ticksMax + 2) ticks.length = ticksMax + 2;
  } else {
    const raw = (high - low) / ticksMax, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= raw) || raw;
    for (let tick = Math.ceil(low / step) * step, turns = 0; tick <= high && turns < 20; tick += step, turns += 1) ticks.push(tick);
  }
  return { place: (value) => (to(value) - low) / (high - low), ticks, logarithmic };
};

const start = (data) => {
  const { columns, figures, words, tests, metrics } = data;
  const total = columns.id.length;
  const graded = data.grades.length;
  const word = (name, row) => words[columns[name][row]];
  const metricOf = (id) => metrics.find((one) => one.id === id);
  const settings = (row) => {
    const pairs = [], numbers = columns.settings[row];
    for (let place = 0; place < numbers.length; place += 2) pairs.push([words[numbers[place]], words[numbers[place + 1]]]);
    return pairs;
  };
  const diskName = (row) => [word("host", row), word("device", row) || word("targets", row), word("model", row)].filter(Boolean).join(" \u00b7 ");
  const odd = (row) => columns.time[row] < OLDEST_S || columns.time[row] > data.made + 86400;
  const groupName = (row, by) => {
    if (by === "firmware") return word("firmware", row) ? (word("model", row) || word("device", row)) + " \u00b7 " + word("firmware", row) : "not told";
    if (by === "model") return word("model", row) || word("device", row) || "not told";
    return word(by, row) || "not told";
  };
  const texts = [];
  const textOf = (row) => (texts[row] = texts[row] || [columns.id[row], tests[columns.test[row]].words, data.grades[columns.grade[row]] || "not judged",
    ...["host", "targets", "device", "model", "firmware", "kernel", "machine", "filesystem", "command", "label", "note", "tags"].map((name) => word(name, row))].join("\n").toLowerCase());

  const state = { test: 0, metric: metrics[0].id, by: "host", all: false, search: "", from: null, until: null, chosen: null, disk: null, rows: ROWS_FIRST, listed: LIST_FIRST };
  const look = document.getElementById("look");

  // The controls.
  const labelled = (text, control, wide) => make("label", wide ? { className: "wide" } : {}, make("span", {}, text), control);
  const choice = (rows, change) => {
    const select = make("select", {}, ...rows.map(([value, text]) => make("option", { value }, text)));
    select.addEventListener("change", () => { change(select.value); update(); });
    return select;
  };
  const testSelect = choice(tests.map((test, place) => [place, test.words]), (value) => { state.test = +value; state.chosen = null; state.disk = null; state.rows = ROWS_FIRST; state.listed = LIST_FIRST; });
  const metricSelect = choice(metrics.map((metric) => [metric.id, metric.words]), (value) => { state.metric = value; });
  const bySelect = choice(GROUPS, (value) => { state.by = value; state.rows = ROWS_FIRST; });
  const diskSelect = choice([], (value) => { state.disk = value; });
  const search = make("input", { type: "search", placeholder: "label, tag, host, model, command" });
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { state.search = search.value; update(); }, 120); });
  const day = (name, extra) => {
    const input = make("input", { type: "date" });
    input.addEventListener("change", () => { state[name] = input.value ? Date.parse(input.value + "T00:00:00Z") / 1000 + extra : null; update(); });
    return input;
  };
  const gradeBox = make("input", { type: "checkbox" });
  gradeBox.addEventListener("change", () => { state.all = gradeBox.checked; update(); });
  const told = make("p", { className: "told", role: "status" });
  const command = make("p", { className: "note command" });
  look.append(make("form", { className: "controls", role: "search", ariaLabel: "What is shown" },
    labelled("Test", testSelect, true), labelled("Figure", metricSelect), labelled("Group by", bySelect), labelled("Search", search, true),
    make("details", { className: "more" }, make("summary", {}, "More filters"), make("div", { className: "controls" }, labelled("From", day("from", 0)), labelled("To", day("until", 86400)),
      make("label", { className: "tick" }, gradeBox, " Count suspect, invalid and unjudged results too")))), told);
  look.firstChild.addEventListener("submit", (event) => event.preventDefault());

  // A chart: its picture, and the point that the pointer or a key chose.
  const chart = (title, about) => {
    const tip = make("div", { className: "tip", hidden: true });
    const plot = make("div", { className: "plot field", tabIndex: 0, role: "application", ariaRoleDescription: "chart" }, tip);
    const caption = make("p", {});
    const box = make("figure", {}, make("figcaption", {}, make("h3", {}, title), caption), plot);
    const one = { box, plot, tip, caption, title, points: [], at: 0 };
    plot.dataset.values = "[]";
    const ring = () => plot.querySelector(".ring");
    const hide = () => { tip.hidden = true; if (ring()) ring().setAttribute("visibility", "hidden"); };
    const show = () => {
      const point = one.points[one.at];
      if (!point) return hide();
      ring().setAttribute("visibility", "visible");
      ring().setAttribute("cx", point.x);
      ring().setAttribute("cy", point.y);
      const row = point.row;
      tip.replaceChildren(...[shown(row), word("host", row) + (word("model", row) ? " \u00b7 " + word("model", row) : ""), stamp(columns.time[row]) + ", " + gradeOf(row)].map((text) => make("div", {}, text)));
      tip.hidden = false;
      plot.ariaLabel = title + ": " + tip.textContent;
      const room = plot.clientWidth;
      tip.style.left = Math.max(0, Math.min(point.x + 14 + tip.offsetWidth <= room ? point.x + 14 : point.x - 14 - tip.offsetWidth, room - tip.offsetWidth)) + "px";
      tip.style.top = Math.max(0, point.y - tip.offsetHeight - 10) + "px";
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
      let best = Infinity;
      one.points.forEach((point, place) => {
        const away = (point.x - x) ** 2 + (point.y - y) ** 2;
        if (away < best) { best = away; one.at = place; }
      });
      show();
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("focus", () => { one.at = Math.min(one.at, Math.max(0, one.points.length - 1)); show(); });
    plot.addEventListener("blur", hide);
    plot.addEventListener("click", () => { if (one.points[one.at]) choose(one.points[one.at].row); });
    plot.addEventListener("keydown", (event) => {
      const last = one.points.length - 1, line = one.points[one.at] ? one.points[one.at].line : 0;
      const beside = (step) => {
        const lines = [...new Set(one.points.map((point) => point.line))], next = lines[lines.indexOf(line) + step];
        if (next === undefined) return one.at;
        const here = one.points[one.at].x;
        return one.points.reduce((best, point, place) => (point.line === next && (best < 0 || Math.abs(point.x - here) < Math.abs(one.points[best].x - here)) ? place : best), -1);
      };
      const big = Math.max(1, Math.round(last / 20));
      const steps = { ArrowLeft: () => one.at - 1, ArrowRight: () => one.at + 1, PageUp: () => one.at - big, PageDown: () => one.at + big, Home: () => 0, End: () => last, ArrowUp: () => beside(-1), ArrowDown: () => beside(1) };
      if (event.key === "Escape") return hide();
      if ((event.key === "Enter" || event.key === " ") && one.points[one.at]) { event.preventDefault(); return choose(one.points[one.at].row); }
      if (!(event.key in steps)) return;
      event.preventDefault();
      one.at = Math.max(0, Math.min(last, steps[event.key]()));
      show();
    });
    one.put = (svg, points) => {
      svg.append(draw("circle", { class: "ring", r: 7, visibility: "hidden" }));
      const before = plot.querySelector("svg");
      if (before) before.remove();
      plot.prepend(svg);
      one.points = points;
      one.at = Math.min(one.at, Math.max(0, points.length - 1));
      plot.ariaLabel = title + ": " + many(points.length, "result") + "; arrow keys choose one, Enter shows it";
      hide();
    };
    return one;
  };
  const spread = chart("How the results are spread");
  const drift = chart("Over time, for one disk");
  const moreRows = make("button", { type: "button", hidden: true });
  moreRows.addEventListener("click", () => { state.rows = Infinity; update(); });
  const detail = make("section", { id: "chosen", hidden: true, ariaLive: "polite", tabIndex: -1 });
  const changes = make("ol", { className: "changes" });
  const list = make("div", {});
  const moreList = make("button", { type: "button", hidden: true });
  moreList.addEventListener("click", () => { state.listed += 100; update(); });
  spread.box.append(moreRows);
  drift.box.insertBefore(labelled("Disk", diskSelect, true), drift.plot);
  drift.box.append(changes);
  look.append(make("section", { className: "head" }, command, spread.box), detail, make("section", { className: "head" }, drift.box), make("section", { className: "found" }, make("h2", {}, "Results"), list, moreList));

  const gradeOf = (row) => data.grades[columns.grade[row]] || "not judged";
  const tickWords = (tick) => scaled(tick, STEPS[metricOf(state.metric).unit === "per second" ? "axis" : metricOf(state.metric).unit]);
  const value = (row) => figures[state.metric][row];
  const show = (value) => scaled(value, STEPS[metricOf(state.metric).unit]) + (metricOf(state.metric).unit === "per second" ? " IOPS" : "");
  const shown = (row) => (value(row) === null ? "no figure" : show(value(row)));
  const counts = (row) => state.all || columns.grade[row] === 0;

  let rows = [], counted = [], sorted = [];
  const place = (row, of) => {
    const [below, equal] = standing(of, value(row)), others = of.length - (counts(row) ? 1 : 0);
    const same = Math.max(0, equal - (counts(row) ? 1 : 0)), higher = metricOf(state.metric).higher;
    if (others < 1) return null;
    return { others, part: ((higher ? below : of.length - below - equal) + same / 2) / others };
  };
  const rank = (row, of, what) => {
    const found = value(row) === null ? null : place(row, of);
    return found === null ? "no other " + (state.all ? "" : "certified ") + "result " + what : "better than " + percent(found.part) + " of " + many(found.others, "other result") + " " + what;
  };
  const link = (row) => {
    const id = columns.id[row], number = columns.document[row];
    if (number === null || !/^[0-9a-z]+$/i.test(id)) return make("code", {}, "truespd history show " + id);
    if (data.folder) return make("a", { href: encodeURIComponent(data.folder) + "/" + id + ".json" }, id + ".json");
    const button = make("button", { type: "button", className: "link", ariaLabel: "document " + id }, id + ".json");
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      const packed = document.querySelectorAll('script[type="application/vnd.truespd.document"]')[number - 1].textContent;
      const address = URL.createObjectURL(new Blob([await unpack(packed)], { type: "application/json" }));
      make("a", { href: address, download: id + ".json" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    });
    return button;
  };
  const choose = (row) => {
    state.chosen = row;
    state.disk = diskName(row);
    update();
    detail.scrollIntoView({ block: "nearest" });
  };

  const bars = (row) => metrics.filter((metric) => figures[metric.id][row] !== null)
    .map((metric) => metric.words + " " + scaled(figures[metric.id][row], STEPS[metric.unit])).join(", ");
  const drawDetail = () => {
    const row = state.chosen;
    detail.hidden = row === null;
    if (row === null) return;
    const sameModel = counted.filter((other) => word("model", other) === word("model", row)).map(value).sort((a, b) => a - b);
    const facts = [["where it stands", rank(row, sorted, "of this test")], word("model", row) && ["on this disk model", rank(row, sameModel, "of it")], ["figures", bars(row)], ["host", word("host", row)],
      ["disk", [word("device", row), word("model", row), word("firmware", row)].filter(Boolean).join(" \u00b7 ")], ["target", word("targets", row)], ["kernel", word("kernel", row)], ["machine type", word("machine", row)],
      ["file system", word("filesystem", row)], ["settings", settings(row).map((pair) => pair.join(" ")).join(", ")], ["begun", stamp(columns.time[row]) + " UTC" + (odd(row) ? " (its clock was wrong)" : "")],
      ["label", word("label", row)], ["tags", word("tags", row)], ["note", word("note", row)], ["command", word("command", row)]].filter((pair) => pair && pair[1]);
    const id = columns.id[row];
    const close = make("button", { type: "button", ariaLabel: "close this result" }, "Close");
    close.addEventListener("click", () => { state.chosen = null; update(); spread.plot.focus(); });
    const grade = make("strong", { className: "badge " + gradeOf(row) }, gradeOf(row));
    const body = make("dl", {}, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    body.append(make("dt", {}, "document"), make("dd", {}, link(row), columns.document[row] && !data.folder ? " (number " + columns.document[row] + " of this page)" : ""));
    detail.replaceChildren(make("h2", {}, shown(row) + " ", grade), body, close);
    detail.setAttribute("aria-label", "Result " + id);
  };

  const dots = (points, pale, radius) => draw("path", { class: "dots" + (pale ? " pale" : ""), d: points.map(({ x, y }) => "M" + x.toFixed(1) + " " + y.toFixed(1) + "h.01").join(""), "stroke-width": radius * 2 });
  const frame = (width, height, title) => draw("svg", { viewBox: "0 0 " + width + " " + height, width, height, "aria-hidden": "true" });
  const ticked = (svg, axis, left, right, top, bottom) => {
    let free = -Infinity;
    for (const tick of axis.ticks) {
      const x = left + axis.place(tick) * (right - left), text = tickWords(tick), half = text.length * 3.6;
      if (x < left || x > right) continue;
      svg.append(draw("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
      if (x - half < free + 6 || x + half > right + 8) continue;
      free = x + half;
      svg.append(draw("text", { x, y: bottom + 17, "text-anchor": "middle" }, text));
    }
  };
  // A steady place of a point beside the middle of its row.
  const jitter = (row) => ((row * 2654435761) % 4294967296) / 4294967296 - 0.5;

  const drawSpread = (drawn) => {
    const groups = new Map();
    for (const row of drawn) {
      const name = groupName(row, state.by);
      if (!groups.has(name)) groups.set(name, { name, all: [], counted: [] });
      const group = groups.get(name);
      group.all.push(row);
      if (counts(row)) group.counted.push(value(row));
    }
    const sign = metricOf(state.metric).higher ? -1 : 1;
    for (const group of groups.values()) {
      group.counted.sort((a, b) => a - b);
      group.median = group.counted.length ? quantile(group.counted, 0.5) : null;
    }
    const order = [...groups.values()].sort((a, b) => (a.median === null) - (b.median === null) || sign * (a.median - b.median) || b.all.length - a.all.length);
    const some = order.slice(0, state.rows);
    moreRows.hidden = some.length === order.length;
    moreRows.textContent = "Show all " + count(order.length) + " groups";
    const width = Math.max(280, spread.plot.clientWidth), narrow = width < 640;
    const left = narrow ? 6 : Math.min(260, width * 0.26), right = width - (narrow ? 6 : 150), each = narrow ? 62 : 40, height = some.length * each + 30;
    const svg = frame(width, height), points = [];
    const shownValues = some.flatMap((group) => group.all.map(value));
    const least = shownValues.reduce((a, b) => Math.min(a, b), Infinity), most = shownValues.reduce((a, b) => Math.max(a, b), 0);
    const axis = axisOf(least, most, narrow ? 3 : 6);
    ticked(svg, axis, left, right, 4, height - 26);
    some.forEach((group, line) => {
      const top = line * each + (narrow ? 22 : 4), middle = top + 17, at = (number) => left + axis.place(number) * (right - left);
      const of = group.all.map((row) => ({ row, line, x: at(value(row)), y: middle + jitter(row) * 24 })).sort((a, b) => a.x - b.x);
      points.push(...of);
      const figure = group.median === null ? count(group.all.length) + ", none certified" : show(group.median) + " \u00b7 " + count(group.counted.length);
      if (narrow) {
        svg.append(draw("text", { class: "group", x: 2, y: top - 4 }, short(group.name, Math.floor((width - figure.length * 7 - 16) / 7))));
        svg.append(draw("text", { class: "sum", x: width - 2, y: top - 4, "text-anchor": "end" }, figure));
      } else {
        const name = draw("text", { class: "group", x: left - 14, y: middle + 4, "text-anchor": "end" }, short(group.name, Math.floor((left - 20) / 7)));
        name.append(draw("title", {}, group.name));
        svg.append(name, draw("text", { class: "sum", x: right + 12, y: middle + 4 }, figure));
      }
      svg.append(dots(of.filter((point) => !counts(point.row)), true, 2.2), dots(of.filter((point) => counts(point.row)), false, 2.2));
      if (group.counted.length > 1) {
        const [p5, p25, p50, p75, p95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((part) => at(quantile(group.counted, part)));
        svg.append(draw("line", { class: "reach", x1: p5, x2: p95, y1: middle, y2: middle }), draw("rect", { class: "box", x: p25, width: Math.max(1, p75 - p25), y: middle - 9, height: 18, rx: 3 }), draw("line", { class: "middle", x1: p50, x2: p50, y1: middle - 12, y2: middle + 12 }));
      }
      const chosen = of.find((point) => point.row === state.chosen);
      if (chosen) svg.append(draw("circle", { class: "chosen", cx: chosen.x, cy: chosen.y, r: 6 }));
    });
    spread.caption.textContent = "Each point is a result. The box holds half of the " + (state.all ? "results" : "certified results") + ", the line in it is their median, the whiskers reach from 5 to 95 %. Beside it stand median and count" + (state.all ? "." : "; pale results do not count.") + (axis.logarithmic ? " The axis is logarithmic." : "");
    spread.put(svg, points);
  };

  const drawDrift = (drawn) => {
    const disks = new Map();
    for (const row of drawn) disks.set(diskName(row), (disks.get(diskName(row)) || 0) + 1);
    const names = [...disks.keys()].sort((a, b) => disks.get(b) - disks.get(a) || (a < b ? -1 : 1));
    if (!disks.has(state.disk)) state.disk = names[0];
    diskSelect.replaceChildren(...names.slice(0, 500).map((name) => make("option", { value: name }, name + " (" + count(disks.get(name)) + ")")));
    diskSelect.value = state.disk;
    const of = drawn.filter((row) => diskName(row) === state.disk), timed = of.filter((row) => !odd(row)).sort((a, b) => columns.time[a] - columns.time[b]);
    const width = Math.max(280, drift.plot.clientWidth), narrow = width < 640, height = 300, left = narrow ? 62 : 84, right = width - 14, top = 26, bottom = height - 26;
    const svg = frame(width, height), points = [];
    const seen = [];
    const stateOf = (row) => new Map([["kernel", word("kernel", row)], ["firmware", word("firmware", row)], ["file system", word("filesystem", row)], ...settings(row)]);
    if (timed.length > 0) {
      const [first, last] = [columns.time[timed[0]], columns.time[timed[timed.length - 1]]], length = Math.max(60, last - first);
      const at = (seconds) => left + 8 + (last === first ? 0.5 : (seconds - first) / length) * (right - left - 16);
      const values = timed.map(value), axis = axisOf(values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b)), 5);
      const up = (number) => bottom - axis.place(number) * (bottom - top);
      let free = Infinity;
      for (const tick of axis.ticks) {
        const y = up(tick);
        if (y < top - 1 || y > bottom + 1) continue;
        svg.append(draw("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
        if (free - y < 15) continue;
        free = y;
        svg.append(draw("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, tickWords(tick)));
      }
      const ends = last - first > 2 * 86400 ? [stamp(first).slice(0, 10), stamp(last).slice(0, 10)] : [stamp(first), stamp(last)];
      svg.append(draw("text", { x: left, y: height - 8 }, ends[0]));
      if (last > first) svg.append(draw("text", { x: right, y: height - 8, "text-anchor": "end" }, ends[1]));
      // Where something else than before was set, by what the results before and after it tell.
      let before = null, begin = 0;
      const spans = [];
      timed.forEach((row, place) => {
        const now = stateOf(row);
        const names = before === null ? [] : [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) && now.get(name) && before.get(name) !== now.get(name));
        if (names.length > 0) {
          seen.push({ row, place, words: names.map((name) => name + " " + before.get(name) + " \u2192 " + now.get(name)).join("; ") });
          spans.push([begin, place]);
          begin = place;
        }
        before = before === null ? now : new Map([...before, ...[...now].filter(([, text]) => text)]);
      });
      spans.push([begin, timed.length]);
      const median = ([from, to]) => {
        const of = timed.slice(from, to).filter(counts).map(value).sort((a, b) => a - b);
        return of.length ? quantile(of, 0.5) : null;
      };
      seen.forEach((change, number) => { change.medians = [median(spans[number]), median(spans[number + 1])]; });
      let named = -Infinity;
      seen.slice(0, MARKS_MAX).forEach((change, number) => {
        const x = (at(columns.time[change.row]) + at(columns.time[timed[change.place - 1]])) / 2;
        svg.append(draw("line", { class: "mark", x1: x, x2: x, y1: top - 6, y2: bottom }));
        if (x - named > 18) { svg.append(draw("text", { class: "markname", x, y: top - 11, "text-anchor": "middle" }, String(number + 1))); named = x; }
      });
      for (const row of timed) points.push({ row, line: 0, x: at(columns.time[row]), y: up(value(row)) });
      svg.append(dots(points.filter((point) => !counts(point.row)), true, 3), dots(points.filter((point) => counts(point.row)), false, 3));
      if (seen.length < MARKS_MAX) {
        for (const [from, to] of spans) {
          const level = median([from, to]);
          if (level !== null) svg.append(draw("line", { class: "middle", x1: at(columns.time[timed[from]]) - 4, x2: at(columns.time[timed[to - 1]]) + 4, y1: up(level), y2: up(level) }));
        }
      }
      const chosen = points.find((point) => point.row === state.chosen);
      if (chosen) svg.append(draw("circle", { class: "chosen", cx: chosen.x, cy: chosen.y, r: 7 }));
    } else {
      svg.append(draw("text", { x: 4, y: 40 }, "No result of this disk has a time that can be right."));
    }
    const wrong = of.length - timed.length;
    drift.caption.textContent = (metricOf(state.metric).words + " of each result. Marks stand where something changed; lines are the medians between them.") + (wrong > 0 ? " Left out for the time of their clocks, before 2000 or to come: " + many(wrong, "result") + "." : "");
    changes.replaceChildren(...seen.slice(0, MARKS_MAX).map(({ row, words, medians: [before, after] }) => make("li", {}, make("strong", {}, stamp(columns.time[row]).slice(0, 10)), " " + words,
      before !== null && after !== null ? make("span", { className: "note" }, " median " + show(before) + " \u2192 " + show(after) + " (" + (after >= before ? "+" : "\u2212") + Math.abs((after / before - 1) * 100).toFixed(1) + " %)") : "")));
    if (seen.length === 0 && timed.length > 1) changes.append(make("li", { className: "none" }, "No change of kernel, firmware or settings is told between these results."));
    if (seen.length > MARKS_MAX) changes.append(make("li", { className: "none" }, many(seen.length - MARKS_MAX, "more change")));
    drift.put(svg, points);
  };

  const drawList = (drawn) => {
    const some = drawn.slice(0, state.listed);
    const head = ["begun", "host", "disk", metricOf(state.metric).words, "better than", "label", "verdict", "document"];
    const row = (row) => {
      const found = place(row, sorted), button = make("button", { type: "button", className: "link", ariaLabel: "show the result of " + stamp(columns.time[row]) }, stamp(columns.time[row]));
      button.addEventListener("click", () => choose(row));
      const cells = [word("host", row), word("model", row) || word("device", row), shown(row), found ? percent(found.part) : "-", word("label", row) || "-", gradeOf(row), link(row)];
      return make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, button),
        ...cells.map((cell, place) => make("td", { role: "cell", className: (TEXT_COLUMNS.includes(place + 1) ? "text " : "") + (cell === "-" ? "none" : place === 5 ? "grade " + cell : ""), "data-name": head[place + 1] }, cell)));
    };
    list.replaceChildren(make("div", { className: "scroll cards", tabIndex: 0, role: "region", ariaLabel: "Results" }, make("table", { role: "table" },
      make("caption", {}, "The newest first: " + count(some.length) + " of " + count(drawn.length) + ". \u201cBetter than\u201d: how many of the " + (state.all ? "" : "certified ") + "results of this test are worse"),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...head.map((name, place) => make("th", { scope: "col", role: "columnheader", className: TEXT_COLUMNS.includes(place) ? "text" : "" }, name)))),
      make("tbody", { role: "rowgroup" }, ...some.map(row)))));
    moreList.hidden = some.length === drawn.length;
    moreList.textContent = "Show 100 more";
  };

  const update = () => {
    const wanted = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const perTest = tests.map(() => 0);
    rows = [];
    for (let row = 0; row < total; row += 1) {
      if (state.from !== null && columns.time[row] < state.from || state.until !== null && columns.time[row] >= state.until) continue;
      if (wanted.length > 0) { const text = textOf(row); if (!wanted.every((part) => text.includes(part))) continue; }
      perTest[columns.test[row]] += 1;
      if (columns.test[row] === state.test) rows.push(row);
    }
    [...testSelect.options].forEach((option, place) => { option.textContent = short(tests[place].words, 90) + " (" + count(perTest[place]) + ")"; });
    const measured = rows.filter((row) => value(row) !== null);
    counted = measured.filter(counts);
    sorted = counted.map(value).sort((a, b) => a - b);
    testSelect.value = state.test;
    command.textContent = tests[state.test].command;
    const elsewhere = perTest.reduce((a, b) => a + b, 0) - rows.length;
    told.textContent = many(rows.length, "result") + " of this test, " + (state.all ? "all" : count(counted.length) + " certified") + (wanted.length || state.from || state.until ? "; " + many(elsewhere, "more match") .replace("matchs", "match") + " in other tests" : "") + (counted.length === 0 && measured.length > 0 ? "; \u201cMore filters\u201d can count the others" : "") + (measured.length < rows.length ? "; " + count(rows.length - measured.length) + " without this figure" : "") + ".";
    const none = measured.length === 0;
    spread.box.hidden = none;
    drift.box.parentElement.hidden = none;
    if (!none) { drawSpread(measured); drawDrift(measured); }
    drawList(rows);
    drawDetail();
  };

  metricSelect.value = state.metric;
  document.body.classList.add("drawn");
  update();
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; update(); } });
  document.documentElement.dataset.drawn = Math.round(performance.now());
};

const source = document.getElementById("table").dataset;
(source.results ? Promise.resolve(source.results) : unpack(source.packedResults)).then((text) => start(JSON.parse(text))).catch((error) => {
  document.getElementById("look").textContent = "This browser cannot draw the results (" + error.message + "). The table below needs no script.";
});
