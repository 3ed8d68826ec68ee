// Timelines can be enlarged and moved: by the wheel, by dragging, by buttons and by the keyboard.
for (const figure of document.querySelectorAll(".timeline")) {
  const data = JSON.parse(figure.dataset.timeline);
  const canvas = figure.querySelector("canvas");
  const told = figure.querySelector(".stretch");
  const [row, top, below] = [22, 6, 26];
  let left = 40;  // room for the labels
  let [from, to] = [0, data.ticks];
  const bands = data.bands.map(({ label, at }) => {
    const [begin, end, kind] = [[], [], []];
    for (let i = 0, now = 0; i < at.length; i += 3) {
      begin.push(now += at[i]);
      end.push(now += at[i + 1]);
      kind.push(at[i + 2]);
    }
    return { label, begin, end, kind };
  });
  const seconds = (ticks) => ticks / data.ticks * data.end;
  const time = (value) => {
    const [unit, length] = data.scale;
    const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(Math.max(seconds(to - from) / length, 1e-12)))));
    return `${(value / length).toFixed(digits)} ${unit}`;
  };
  const units = [[1e-6, "ns", 1e-9], [1e-3, "us", 1e-6], [1, "ms", 1e-3], [600, "s", 1], [7200, "min", 60], [Infinity, "h", 3600]];
  const duration = (value) => {  // as clue.units.format_time: a short segment of a long run is not 0.00 s
    const [, unit, length] = units.find(([limit]) => value < limit);
    return value === 0 ? "0 s" : `${Number((value / length).toPrecision(4))} ${unit}`;
  };
  const after = (list, value) => {  // the first index whose value is greater
    let [low, high] = [0, list.length];
    while (low < high) { const middle = (low + high) >> 1; if (list[middle] > value) high = middle; else low = middle + 1; }
    return low;
  };
  let width = 0;
  const place = (ticks) => left + (ticks - from) / (to - from) * (width - left - 6);
  const draw = () => {
    const sharp = window.devicePixelRatio || 1;
    const height = top + row * bands.length + below;
    width = canvas.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = width * sharp;
    canvas.height = height * sharp;
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.font = "13px system-ui, sans-serif";
    left = Math.min(Math.max(...bands.map(({ label }) => pen.measureText(label).width)) + 12, width / 3);
    bands.forEach(({ label, begin, end, kind }, i) => {
      const y = top + row * i;
      for (let k = after(end, from); k < begin.length && begin[k] < to; k++) {
        const [x, stop] = [Math.max(place(begin[k]), left), Math.min(place(end[k]), width - 6)];
        pen.fillStyle = data.kinds[kind[k]][1];
        pen.fillRect(x, y, Math.max(stop - x, 0.5), row - 4);
      }
      pen.fillStyle = "#222";
      pen.textAlign = "right";
      let shown = label;
      while (shown.length > 2 && pen.measureText(shown).width > left - 8) shown = `${shown.slice(0, -2)}…`;
      pen.fillText(shown, left - 6, y + row - 8);
    });
    pen.fillStyle = "#222";
    const y = top + row * bands.length + 14;
    for (const [share, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      pen.textAlign = align;
      pen.fillText(time(seconds(from + share * (to - from))), left + share * (width - left - 6), y);
    }
    told.textContent = from === 0 && to === data.ticks ? "all of it is shown" : `${time(seconds(from))} to ${time(seconds(to))}`;
  };
  const show = (begin, length) => {
    const size = Math.min(Math.max(length, 20), data.ticks);
    from = Math.max(0, Math.min(begin, data.ticks - size));
    to = from + size;
    draw();
  };
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, (to - from) * factor);
  const move = (share) => show(from + share * (to - from), to - from);
  const acts = { in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.4), right: () => move(0.4), all: () => show(0, data.ticks) };
  figure.addEventListener("click", ({ target }) => { const act = acts[target.dataset?.zoom]; if (act) act(); });
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };
  canvas.addEventListener("keydown", (event) => {
    if (keys[event.key] === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[keys[event.key]]();
  });
  const ticksAt = (event) => from + (event.clientX - canvas.getBoundingClientRect().left - left) / (width - left - 6) * (to - from);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;  // otherwise the page scrolls
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, ticksAt(event));
  }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = ticksAt(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointerleave", hush);
  canvas.addEventListener("pointermove", (event) => {
    const at = ticksAt(event);
    if (held !== null) { show(from + held - at, to - from); return; }
    const band = bands[Math.floor((event.clientY - canvas.getBoundingClientRect().top - top) / row)];
    const k = band ? after(band.end, at) : -1;
    if (!band || k >= band.begin.length || band.begin[k] > at) { hush(); return; }
    const [begin, end] = [seconds(band.begin[k]), seconds(band.end[k])];
    say(`${data.unit} ${band.label}: ${data.kinds[band.kind[k]][0]}, ${duration(end - begin)}, from ${time(begin)} to ${time(end)}`, event.clientX, event.clientY);
  });
  new ResizeObserver(() => { if (canvas.clientWidth !== width) requestAnimationFrame(draw); }).observe(figure);
  addEventListener("beforeprint", draw);
}
