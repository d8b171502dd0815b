"use strict";
// Shows the values of a chart where the pointer is, or where the arrow keys led.
for (const plot of document.querySelectorAll(".plot")) {
  const tip = plot.querySelector(".tip");
  let series = null;
  let places = [];
  let at = 0;

  const load = () => {
    if (series) return;
    series = JSON.parse(plot.dataset.values);
    places = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  };
  const picture = () => [...plot.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width > 0);
  const nearest = (points, x) => points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  const hide = () => {
    tip.hidden = true;
    for (const cursor of plot.querySelectorAll(".cursor")) cursor.setAttribute("visibility", "hidden");
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
    const cursor = svg.querySelector(".cursor");
    const middle = left + x * (right - left);
    for (const [name, value] of Object.entries({ x1: middle, x2: middle, y1: top, y2: bottom, visibility: "visible" })) cursor.setAttribute(name, value);
    const gap = places.length > 1 ? (places[places.length - 1] - places[0]) / (places.length - 1) : 1;
    const found = series.filter((one) => one.points.length > 0)
      .map((one) => ({ one, point: nearest(one.points, x) }))
      .filter(({ point }) => Math.abs(point[0] - x) <= gap);
    tip.replaceChildren(line(found[0].point[2]), ...found.map(({ one, point }) => line(one.name + ": " + point[3], one.colour)));
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
    const [left, , right] = svg.dataset.plot.split(" ").map(Number);
    const x = ((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width - left) / (right - left);
    at = places.indexOf(places.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best)));
    show();
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("focus", () => { load(); show(); });
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    load();
    const big = Math.max(1, Math.round(places.length / 10));
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -big, PageDown: big, Home: -places.length, End: places.length };
    if (event.key === "Escape") return hide();
    if (!(event.key in steps)) return;
    event.preventDefault();
    at = Math.max(0, Math.min(places.length - 1, at + steps[event.key]));
    show();
  });
}
