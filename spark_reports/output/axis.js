// The time axis: D3 draws the curves; zoom, brush, and crosshair move all lanes together.
(() => {
  const source = document.getElementById("axis-data");
  if (!source || !window.d3) return;
  const sessions = JSON.parse(source.textContent);
  const unit = (us) => {
    const abs = Math.abs(us);
    const short = (value, name) => `${Number(value.toFixed(3))}${name}`;
    if (abs < 1000) return `${Math.round(us)}µs`;
    if (abs < 1e6) return short(us / 1000, "ms");
    if (abs < 6e7) return short(us / 1e6, "s");
    if (abs < 3.6e9) return `${Math.floor(us / 6e7)}m ${short((us % 6e7) / 1e6, "s")}`;
    return `${Math.floor(us / 3.6e9)}h ${Math.floor((us % 3.6e9) / 6e7)}m`;
  };
  const count = (value) => value.toLocaleString("en");
  const HINT = "Drag to zoom; a click holds the crosshair. The arrow keys move it, + and - zoom, and 0 shows everything.";
  const POINTS = 120;
  const CHARTS = [
    { title: "records per second", rate: true, step: true, lines: [["produced", "produced"], ["acknowledged", "acknowledged"], ["refused", "refused"]] },
    { title: "produce latency", text: unit, lines: [["p50_us", "p50"], ["p99_us", "p99"], ["max_us", "max"]] },
    { title: "writes without an answer for over 1s", step: true, hold: true, lines: [["waiting", "waiting"]] },
    { title: "under-replicated partitions", step: true, hold: true, lines: [["under_replicated", "under-replicated"]] },
    { title: "log ends above high watermarks, in records", step: true, hold: true, lines: [["behind", "not committed"]] },
    { title: "greatest lag of a group", step: true, hold: true, lines: [["lag", "lag"]] },
  ];

  function values(data, name, chart) {
    // One value for each piece of time. A rate is 0 where nothing happened; a level holds.
    const found = new Array(POINTS).fill(chart.rate ? 0 : null);
    const pairs = name === "lag" || name === "behind" ? data[name] : data.pieces.map((piece, at) => [piece, data[name][at]]);
    for (const [piece, value] of pairs) if (piece < POINTS && value !== null) found[piece] = chart.rate ? (value * POINTS * 1e6) / data.end : value;
    if (chart.hold) for (let at = 0, last = 0; at < POINTS; at += 1) last = found[at] = found[at] ?? last;
    return found;
  }

  // Shows the rows of a table that contain some words.
  function go(table, words) {
    const section = document.getElementById(table);
    const field = document.querySelector(`input[data-table="t-${table}"]`);
    if (field) { field.value = words; field.dispatchEvent(new Event("input")); }
    section.scrollIntoView();
  }

  for (const whole of document.querySelectorAll(".axis-whole")) {
    const data = sessions[Number(whole.dataset.number)];
    if (!data) continue;
    const box = whole.querySelector(".axis-box");
    const end = data.end;
    const readout = whole.querySelector(".readout");
    let lane = "";
    const cross = box.querySelector(".cross");
    let view = [0, end];
    let at = null;
    let held = false;
    const charts = CHARTS.map((chart) => ({ ...chart, lines: chart.lines.map(([name, words]) => ({ words, all: values(data, name, chart) })) }))
      .filter((chart) => chart.lines.some((line) => line.all.some((value) => value)));
    const holder = d3.select(box).select(".series");
    for (const chart of charts) {
      const lane = holder.append("div").attr("class", "lane");
      const label = lane.append("span").text(chart.title);
      chart.lines.forEach((line, number) => label.append("small").attr("class", `c${number}`).text(line.words));
      chart.svg = lane.append("svg").attr("width", "100%").attr("height", 84).attr("role", "img");
      const most = chart.lines.map((line) => `${line.words}: at most ${(chart.text ?? count)(Math.round(Math.max(...line.all.map((value) => value ?? 0))))}`);
      chart.svg.attr("aria-label", `${chart.title}; ${most.join(", ")}`);
    }

    const plot = () => box.querySelector(".lane svg").getBoundingClientRect();
    const scale = () => d3.scaleLinear(view, [0, plot().width]);

    function draw() {
      const x = scale();
      const width = plot().width;
      for (const inner of box.querySelectorAll("svg.z")) {
        inner.setAttribute("x", `${(-100 * view[0]) / (view[1] - view[0])}%`);
        inner.setAttribute("width", `${(100 * end) / (view[1] - view[0])}%`);
      }
      for (const chart of charts) {
        const inside = (value, piece) => value !== null && ((piece + 1) * end) / POINTS >= view[0] && (piece * end) / POINTS <= view[1];
        const top = d3.max(chart.lines, (line) => d3.max(line.all.filter(inside))) || 1;
        const y = d3.scaleLinear([0, top], [78, 10]).nice(3);
        const svg = chart.svg;
        svg.selectAll("*").remove();
        for (const tick of y.ticks(3)) {
          svg.append("line").attr("class", "grid").attr("x2", width).attr("y1", y(tick)).attr("y2", y(tick));
          if (tick) svg.append("text").attr("class", "quiet").attr("x", 3).attr("y", y(tick) - 2).text((chart.text ?? count)(tick));
        }
        const path = d3.line().defined(([, value]) => value !== null).x(([time]) => x(time)).y(([, value]) => y(value)).curve(chart.step ? d3.curveStepAfter : d3.curveLinear);
        chart.lines.forEach((line, number) => {
          const points = line.all.map((value, piece) => [(piece * end) / POINTS, value]);
          if (chart.step) points.push([end, line.all[POINTS - 1]]);
          svg.append("path").attr("class", `curve c${number}`).attr("d", path(chart.step ? points : points.filter(([, value]) => value !== null)));
        });
      }
      point();
    }

    function near() {
      const within = (view[1] - view[0]) / 60;
      return data.told.filter(([time]) => Math.abs(time - at) <= within).sort((a, b) => Math.abs(a[0] - at) - Math.abs(b[0] - at)).slice(0, 4).sort((a, b) => a[1] - b[1]);
    }

    // What the tooltips of the bars at the crosshair say, for those who cannot hold a pointer over them.
    function states() {
      const found = [];
      for (const bar of box.querySelectorAll("svg.z rect")) {
        const title = bar.querySelector("title");
        const start = (parseFloat(bar.getAttribute("x")) * end) / 100;
        const wide = bar.getAttribute("width");
        if (title && wide.endsWith("%") && start <= at && at <= start + (parseFloat(wide) * end) / 100) {
          const name = bar.closest(".lane").querySelector("span[title]").title;
          found.push([name, title.textContent]);
        }
      }
      return found.slice(0, 40);
    }

    function point() {
      cross.hidden = at === null || at < view[0] || at > view[1];
      if (at === null) { readout.textContent = HINT; return; }
      const area = plot();
      cross.style.left = `${area.left - box.getBoundingClientRect().left + scale()(at)}px`;
      const piece = Math.min(POINTS - 1, Math.floor((at * POINTS) / (end + 1)));
      const parts = charts.flatMap((chart) => chart.lines.map((line) => [line, chart]).filter(([line]) => line.all[piece] !== null))
        .map(([line, chart]) => `${line.words} ${(chart.text ?? count)(Math.round(line.all[piece]))}${chart.rate ? "/s" : ""}`);
      readout.replaceChildren();
      const add = (tag, text) => readout.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
      add("b", unit(at));
      add("span", parts.join(" · "));
      for (const [time, number, text] of near()) {
        const line = add("div", `${unit(time)} ${text} `);
        if (held && document.getElementById(`chain-${whole.dataset.number}-${number}`)) line.appendChild(Object.assign(document.createElement("a"), { href: `#chain-${whole.dataset.number}-${number}`, textContent: "its causes" }));
      }
      if (!held) return;
      const lanes = add("details", "");
      lanes.open = states().length < 8;
      lanes.appendChild(Object.assign(document.createElement("summary"), { textContent: "The lanes at this time" }));
      for (const [name, text] of states()) lanes.appendChild(Object.assign(document.createElement("div"), { textContent: text.startsWith(name) ? text : `${name}: ${text}` }));
      add("code", `isrlab play ${data.log} --at ${Math.round(at)}us`);
      const table = /^b\d+$/.test(lane) ? "faults" : "unavailability";
      if (lane && document.getElementById(table)) {
        const words = lane.replace(/-(\d+)$/, " $1");
        add("button", `rows about ${lane}`).addEventListener("click", () => go(table, words));
      }
    }

    const show = (time, hold) => { at = Math.max(0, Math.min(end, time)); if (hold !== undefined) held = hold; point(); };
    const zoom = (from, to) => {
      const least = Math.max(end / 5000, 10);
      const wide = Math.min(end, Math.max(least, to - from));
      const start = Math.max(0, Math.min(end - wide, from));
      view = [start, start + wide];
      draw();
    };
    const timeAt = (event) => scale().invert(event.clientX - plot().left);

    let began = null;
    const brush = box.appendChild(Object.assign(document.createElement("div"), { className: "brush", hidden: true }));
    box.addEventListener("pointerdown", (event) => { if (event.button === 0 && event.clientX >= plot().left) began = event.clientX; });
    box.addEventListener("pointermove", (event) => {
      if (event.clientX < plot().left) return;
      if (began !== null && Math.abs(event.clientX - began) > 6) {
        brush.hidden = false;
        brush.style.left = `${Math.min(began, event.clientX) - box.getBoundingClientRect().left}px`;
        brush.style.width = `${Math.abs(event.clientX - began)}px`;
      }
      if (!held || began !== null) show(timeAt(event));
    });
    addEventListener("pointerup", (event) => {
      if (began === null) return;
      const start = began;
      began = null;
      brush.hidden = true;
      if (Math.abs(event.clientX - start) > 6) {
        const x = scale();
        const ends = [start, event.clientX].map((place) => x.invert(place - plot().left)).sort((a, b) => a - b);
        zoom(ends[0], ends[1]);
      } else {
        lane = event.target.closest?.(".lane")?.querySelector("span[title]")?.title ?? "";
        show(timeAt(event), true);
      }
    });
    addEventListener("pointercancel", () => { began = null; brush.hidden = true; });
    box.addEventListener("pointerleave", () => { if (!held) { at = null; point(); } });
    box.addEventListener("dblclick", () => zoom(0, end));
    box.addEventListener("keydown", (event) => {
      const wide = view[1] - view[0];
      const middle = at ?? view[0];
      const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
      if (event.key in moves) {
        show(middle + (moves[event.key] * wide) / 100, true);
        if (at < view[0]) zoom(at, at + wide);
        else if (at > view[1]) zoom(at - wide, at);
      } else if (event.key === "+") zoom(middle - wide / 4, middle + wide / 4);
      else if (event.key === "-") zoom(middle - wide, middle + wide);
      else if (event.key === "0" || event.key === "Escape") { held = false; at = null; zoom(0, end); } else if (event.key === "Enter") show(middle, true);
      else return;
      event.preventDefault();
    });
    for (const button of whole.querySelectorAll("button[data-zoom]")) {
      button.addEventListener("click", () => {
        const wide = view[1] - view[0];
        const middle = at ?? (view[0] + view[1]) / 2;
        if (button.dataset.zoom === "all") zoom(0, end);
        else if (button.dataset.zoom === "harm") zoom(Number(button.dataset.from), Number(button.dataset.to));
        else if (button.dataset.zoom === "in") zoom(middle - wide / 4, middle + wide / 4);
        else zoom(middle - wide, middle + wide);
      });
    }
    // A step of a chain of causes, or an act in the list, shows its moment on the axis.
    for (const item of document.querySelectorAll(`#${whole.id} [data-at], [data-of="${whole.id}"] [data-at]`)) {
      item.addEventListener("click", () => { show(Number(item.dataset.at), true); whole.scrollIntoView({ block: "nearest" }); });
    }
    new ResizeObserver(draw).observe(box);
    draw();
  }

  // Small charts: steps on a common frame.
  for (const svg of document.querySelectorAll("svg[data-curve]")) {
    const { end, top, lines } = JSON.parse(svg.dataset.curve);
    const x = d3.scaleLinear([0, end], [4, svg.viewBox.baseVal.width - 4]);
    const y = d3.scaleLinear([0, top], [svg.viewBox.baseVal.height - 16, 6]);
    const path = d3.line(([at]) => x(at), ([, value]) => y(value)).curve(d3.curveStepAfter).digits(1);
    for (const [look, pieces] of lines) d3.select(svg).append("path").attr("class", look).attr("d", pieces.map(path).join(""));
  }
})();
