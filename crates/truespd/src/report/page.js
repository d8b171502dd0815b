// Shows the values of a chart where the pointer is, or where the arrow keys led.

// The cells of a heat map: counts by column and row, and the words of the rows' limits and of the columns' ends.
const cellsOf = (data) => {
  if (!data.cells) return null;
  const [limits, moments, places] = [data.limits, data.moments, data.places].map((list) => list.split("|"));
  const columns = JSON.parse(data.cells).map(([first, ...counts]) => ({ first, counts, all: counts.reduce((a, b) => a + b, 0) }));
  const number = (value) => value.toLocaleString("en-US");
  return {
    rows: limits.length - 1,
    ends: places.map(Number),
    middles: columns.map((_, at) => (Number(places[at]) + Number(places[at + 1])) / 2),
    fullest: (at) => Math.max(0, columns[at].first + columns[at].counts.indexOf(Math.max(0, ...columns[at].counts))),
    words: (at, row) => {
      const { first, counts, all } = columns[at];
      const count = counts[row - first] || 0;
      const share = all > 0 ? " (" + (count / all * 100).toFixed(1) + " %)" : "";
      return [moments[at] + " to " + moments[at + 1] + ": " + number(all) + " " + data.what,
        limits[row] + " to " + limits[row + 1] + ": " + number(count) + share];
    },
  };
};

for (const plot of document.querySelectorAll(".plot")) {
  const tip = plot.querySelector(".tip");
  let series = null;
  let places = [];
  let at = 0;
  let cells = null;
  // The row of cells that was chosen; none: the fullest cell of the column.
  let row = null;

  const packed = Object.keys(plot.dataset).filter((name) => name.startsWith("packed"));
  let ready = packed.length === 0;
  Promise.all(packed.map(async (name) => [name, await unpack(plot.dataset[name])])).then((all) => {
    for (const [name, text] of all) plot.dataset[name.slice("packed".length).toLowerCase()] = text;
    ready = true;
  }).catch(() => {});

  const load = () => {
    if (series || !ready) return;
    series = JSON.parse(plot.dataset.values);
    cells = cellsOf(plot.dataset);
    places = cells ? cells.middles : [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  };
  const picture = () => [...plot.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width > 0);
  const nearest = (points, x) => points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  const hide = () => {
    tip.hidden = true;
    for (const cursor of plot.querySelectorAll(".cursor, .cell")) cursor.setAttribute("visibility", "hidden");
  };
  const line = (text, colour) => {
    const div = document.createElement("div");
    if (colour !== undefined) {
      const key = document.createElement("span");
      key.className = "key";
      div.className = "s" + colour;
      div.append(key);
    }
    div.append(text);
    return div;
  };
  const show = () => {
    const svg = picture();
    if (!svg || places.length === 0) return;
    const x = places[at];
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const middle = left + x * (right - left);
    const put = (what, attributes) => {
      for (const [name, value] of Object.entries({ ...attributes, visibility: "visible" })) svg.querySelector(what).setAttribute(name, value);
    };
    put(".cursor", { x1: middle, x2: middle, y1: top, y2: bottom });
    let words = [];
    if (cells) {
      const chosen = row === null ? cells.fullest(at) : row;
      const [begin, end] = [cells.ends[at], cells.ends[at + 1]].map((part) => left + part * (right - left));
      const height = (bottom - top) / cells.rows;
      put(".cell", { x: begin - 1, width: end - begin + 2, y: bottom - (chosen + 1) * height - 1, height: height + 2 });
      words = cells.words(at, chosen);
    }
    // A column without I/Os has no percentiles, and must not show its neighbour's.
    const gap = cells ? (cells.ends[at + 1] - cells.ends[at]) * 0.4 : places.length > 1 ? (places[places.length - 1] - places[0]) / (places.length - 1) : 1;
    const found = series.filter((one) => one.points.length > 0)
      .map((one) => ({ one, point: nearest(one.points, x) }))
      .filter(({ point }) => Math.abs(point[0] - x) <= gap);
    if (words.length === 0) words = [found[0].point[2]];
    tip.replaceChildren(...words.map((text) => line(text)), ...found.map(({ one, point }) => line(one.name + ": " + point[3], one.colour)));
    tip.hidden = false;
    const room = plot.clientWidth;
    const pixel = middle * room / svg.viewBox.baseVal.width;
    const beside = pixel + 14 + tip.offsetWidth <= room ? pixel + 14 : pixel - 14 - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(beside, room - tip.offsetWidth)) + "px";
  };

  plot.addEventListener("pointermove", (event) => {
    load();
    const svg = picture();
    if (!svg || places.length === 0) return;
    const box = svg.getBoundingClientRect();
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = ((event.clientX - box.left) * scale - left) / (right - left);
    const y = (bottom - (event.clientY - box.top) * scale) / (bottom - top);
    if (cells) row = Math.max(0, Math.min(cells.rows - 1, Math.floor(y * cells.rows)));
    at = places.indexOf(places.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best)));
    show();
  });
  plot.addEventListener("pointerleave", () => { row = null; hide(); });
  plot.addEventListener("focus", () => { load(); show(); });
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    load();
    const big = Math.max(1, Math.round(places.length / 10));
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -big, PageDown: big, Home: -places.length, End: places.length };
    if (event.key === "Escape") return hide();
    if (cells && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      row = Math.max(0, Math.min(cells.rows - 1, (row === null ? cells.fullest(at) : row) + (event.key === "ArrowUp" ? 1 : -1)));
      return show();
    }
    if (!(event.key in steps)) return;
    event.preventDefault();
    at = Math.max(0, Math.min(places.length - 1, at + steps[event.key]));
    show();
  });
}
