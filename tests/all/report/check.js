// Looks at a page in a frame and tells the page around it what is wrong.
(() => {
  const wrong = [];
  addEventListener("error", (event) => wrong.push("error: " + event.message));
  addEventListener("securitypolicyviolation", (event) => wrong.push("policy: " + event.violatedDirective));
  const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const boxes = (elements) => [...elements].map((element) => [element, element.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  const apart = (what, elements) => {
    const found = boxes(elements);
    found.forEach(([a, boxA], i) => found.slice(i + 1).forEach(([b, boxB]) => {
      if (touch(boxA, boxB)) wrong.push(what + " overlap: " + a.textContent.slice(0, 30) + " | " + b.textContent.slice(0, 30));
    }));
  };
  // Pictures of heat maps must be whole: their cells in columns and rows, as many as are told.
  const copies = [];
  const copy = () => document.querySelectorAll("symbol image").forEach((image) => {
    const made = new Image();
    made.src = image.getAttribute("href");
    copies.push([image, made]);
  });
  const pictures = () => {
    for (const [image, made] of copies) {
      const same = made.naturalWidth === +image.getAttribute("width") && made.naturalHeight === +image.getAttribute("height");
      if (!made.complete || !same) wrong.push("a picture: " + [made.complete, made.naturalWidth, made.naturalHeight]);
    }
    for (const use of document.querySelectorAll("use")) {
      const [box, around] = [use, use.closest("svg")].map((element) => element.getBoundingClientRect());
      if (!document.getElementById(use.getAttribute("href").slice(1))) wrong.push("cells of nothing");
      if (around.width > 0 && (box.width < around.width / 4 || box.right > around.right + 1)) wrong.push("cells do not fill the chart: " + box.width);
    }
    return copies.length;
  };
  // Up and down choose another cell of the same column.
  const steps = (plot, values) => {
    const key = (name) => plot.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
    plot.focus();
    key("Home");
    const told = [values()];
    for (const name of ["ArrowUp", "ArrowUp", "ArrowDown", "ArrowRight"]) { key(name); told.push(values()); }
    key("Escape");
    const [first, up, higher, down, right] = told.map((text) => text.split("p50")[0]);
    if (up === higher || up !== down || right === down || !first) wrong.push("cells: " + JSON.stringify(told));
  };
  addEventListener("load", copy);
  // The values of long charts are unpacked while the page is shown already.
  const isDrawn = () => !document.getElementById("look") || document.body.classList.contains("drawn");
  const unpacked = () => isDrawn() && [...document.querySelectorAll(".plot")].every((plot) => plot.dataset.values !== undefined);
  const later = (turns) => setTimeout(() => (turns === 0 || unpacked() ? look() : later(turns - 1)), 200);
  addEventListener("load", () => later(100));
  // The page of a history: the search, the choices, a result that is chosen, and its document.
  const kept = async () => {
    const page = document.getElementById("look");
    if (!page) return;
    const rows = () => [...page.querySelectorAll(".found tbody tr")].map((row) => row.textContent);
    const type = async (text) => {
      const search = page.querySelector("input[type=search]");
      search.value = text;
      search.dispatchEvent(new Event("input"));
      await new Promise((done) => setTimeout(done, 300));
    };
    const all = rows().length;
    await type("no-such-word");
    if (rows().length !== 0 || page.querySelector(".plot").clientHeight > 0) wrong.push("search: it finds what is not there");
    await type("NODE-1");
    if (rows().length === 0 || rows().length === all || !rows().every((row) => row.includes("node-1"))) wrong.push("search: " + rows());
    await type("");
    if (rows().length !== all) wrong.push("search: not all come back");
    for (const select of page.querySelectorAll("select")) {
      for (const option of [...select.options]) {
        select.value = option.value;
        select.dispatchEvent(new Event("change"));
        if (!/^\d/.test(page.querySelector(".told").textContent)) wrong.push("choice: " + option.textContent);
      }
      select.selectedIndex = 0;
      select.dispatchEvent(new Event("change"));
    }
    page.querySelector(".found button.link").click();
    const chosen = document.getElementById("chosen");
    if (chosen.hidden || !/better than \d+ %|no other/.test(chosen.textContent)) wrong.push("chosen: " + chosen.textContent);
    if (/undefined|NaN|\\t/.test(page.textContent)) wrong.push("words: " + page.textContent.match(/.{20}(undefined|NaN|\\t).{20}/));
    chosen.querySelector(":scope > button")?.click();
    if (!chosen.hidden) wrong.push("chosen: it does not close");
    const packed = document.querySelector('script[type="application/vnd.truespd.document"]');
    if (packed && !JSON.parse(await unpack(packed.textContent)).format) wrong.push("document: it is none");
  };
  const look = async () => {
    await kept();
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) wrong.push("wider than the window: " + wide + " > " + innerWidth);
    for (const [element, box] of boxes(document.querySelectorAll("main *"))) {
      if (!element.closest(".scroll, pre") && box.right > innerWidth + 1) wrong.push("out of the window: " + element.tagName + " " + element.className);
    }
    for (const svg of document.querySelectorAll("svg")) {
      apart("texts", svg.querySelectorAll("text"));
      for (const [text, box] of boxes(svg.querySelectorAll("text"))) {
        const around = svg.getBoundingClientRect();
        if (box.left < around.left - 1 || box.right > around.right + 1 || box.bottom > around.bottom + 1) wrong.push("cut off: " + text.textContent);
      }
    }
    for (const svg of document.querySelectorAll("figure svg:not(.store)")) {
      const title = svg.closest("figure").querySelector("h3").textContent;
      if (!svg.querySelector("path.line, circle, rect.bar")) wrong.push("empty chart: " + title);
      const size = 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      if (size > 0 && size < 10) wrong.push("text of " + size + " pixels: " + title);
    }
    const [first] = boxes(document.querySelectorAll("figure svg:not(.store)"));
    if (first && !document.querySelector(".findings details[open]") && first[1].top > innerHeight) wrong.push("the first picture is below the first screen: " + first[1].top);
    if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
    apart("parts", document.querySelectorAll("main > *"));
    for (const section of document.querySelectorAll("main > section")) {
      apart("parts of sections", section.querySelectorAll(":scope > *"));
      if (!section.matches(".head") && !section.querySelector(":scope > h2")) wrong.push("a section without heading");
    }
    for (const table of document.querySelectorAll("table")) if (!table.caption) wrong.push("a table without caption");
    for (const cards of document.querySelectorAll(".cards")) {
      if (cards.scrollWidth > cards.clientWidth + 1) wrong.push("a table wider than its room: " + cards.ariaLabel);
      for (const row of cards.querySelectorAll("tbody tr")) apart("cells", row.children);
    }
    let shown = 0;
    const plots = document.querySelectorAll(".plot");
    for (const plot of plots) {
      const tip = plot.querySelector(".tip");
      const values = () => (tip.hidden ? "" : tip.textContent);
      plot.focus();
      const first = values();
      plot.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
      const last = values();
      const tipBox = tip.getBoundingClientRect();
      if (tipBox.left < -1 || tipBox.right > innerWidth + 1) wrong.push("values out of the window");
      plot.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
      const hidden = values();
      const box = plot.getBoundingClientRect();
      plot.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
      const pointed = values();
      plot.dispatchEvent(new PointerEvent("pointerleave", {}));
      const places = new Set(JSON.parse(plot.dataset.values || "[]").flatMap((one) => one.points.map((point) => point[0])));
      if (first && last && (first !== last || places.size === 1) && !hidden && /\d/.test(pointed) && !values()) shown += 1;
      else wrong.push("values: " + JSON.stringify([plot.ariaLabel, first, last, hidden, pointed, values()]));
    }
    const heat = [...plots].filter((plot) => plot.dataset.cells);
    heat.forEach((plot) => steps(plot, () => (plot.querySelector(".tip").hidden ? "" : plot.querySelector(".tip").textContent)));
    const images = pictures();
    if (images !== 2 * heat.length) wrong.push("pictures: " + images + " for " + heat.length + " heat maps");
    parent.postMessage({ page: location.pathname.split("/").pop(), width: innerWidth, plots: plots.length, heat: heat.length, shown, wrong }, "*");
  };
})();
