(() => {
  "use strict";
  const figures = [...document.querySelectorAll("figure.plot")];
  const night = matchMedia("(prefers-color-scheme: dark)");
  let plotly = null, printing = false;

  // Dark pages: every colour keeps its hue and turns its lightness over, so that faint stays faint.
  const turned = (colour) => {
    const [r, g, b] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16) / 255);
    const high = Math.max(r, g, b), low = Math.min(r, g, b), move = 1.02 - high - low;
    return "#" + [r, g, b].map((c) => Math.round(255 * Math.min(1, Math.max(0.06, c + move * (move > 0 ? 1 : 0.88))))
      .toString(16).padStart(2, "0")).join("");
  };
  const dark = (value, key) => {
    if (typeof value === "string") return /^#[0-9a-f]{6}$/i.test(value) ? turned(value) : value === "white" ? "rgba(0,0,0,0)" : value;
    if (key === "bdata" || value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((v) => dark(v));
    return Object.fromEntries(Object.entries(value).map(([k, v]) =>
      [k, k === "colorscale" && value.showscale !== undefined ? v : dark(v, k)]));
  };

  async function unpacked() {
    const packed = atob(document.getElementById("plotly").textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let k = 0; k < packed.length; k++) bytes[k] = packed.charCodeAt(k);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.appendChild(script).remove();
    return window.Plotly;
  }

  function saved(text, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function csv(plot) {
    const lines = ["curve,x,y"];
    for (const t of plot._fullData) for (let k = 0; t.x && k < t.x.length; k++)
      lines.push([JSON.stringify(t.name || ""), t.x[k], t.y[k]].join(","));
    saved(lines.join("\n"), `${plot.id}.csv`, "text/csv");
  }
  const icon = (path) => ({ width: 24, height: 24, path });
  const settings = (id) => ({
    displaylogo: false, responsive: true, toImageButtonOptions: { filename: id, scale: 2 },
    modeBarButtonsToAdd: [
      { name: "Download as SVG", icon: icon("M5 3h14v18H5zM8 8h8M8 12h8M8 16h5"),
        click: (p) => window.Plotly.downloadImage(p, { format: "svg", filename: id, width: p.clientWidth, height: p.clientHeight }) },
      { name: "Download the numbers (CSV)", icon: icon("M4 4h16v4H4zM4 10h16v4H4zM4 16h16v4H4z"), click: csv },
    ],
  });

  // On a narrow screen legends lie above their panels instead of beside them.
  function upwards(layout) {
    for (const key of Object.keys(layout)) if (/^legend\d*$/.test(key) && layout[key].orientation !== "h")
      layout[key] = { ...layout[key], orientation: "h", x: 0, yanchor: "bottom", font: { size: 10 } };
    layout.margin = { ...layout.margin, l: 50, r: 12 };
  }

  function draw(figure) {
    if (figure.dataset.drawn || !plotly) return;
    figure.dataset.drawn = "yes";
    const told = JSON.parse(document.getElementById(figure.dataset.of).textContent);
    const shown = night.matches && !printing ? dark(told) : told;
    const layout = { ...shown.layout, autosize: true };
    if (figure.clientWidth < 560 && !printing) upwards(layout);
    figure.replaceChildren();
    plotly.newPlot(figure, shown.data, layout, settings(figure.id));
  }
  const undraw = (figure) => { if (figure.dataset.drawn) { plotly.purge(figure); delete figure.dataset.drawn; } };

  async function begin() {
    if (!figures.length) return;
    const near = new IntersectionObserver((seen) => {
      for (const s of seen) if (s.isIntersecting) { near.unobserve(s.target); draw(s.target); }
    }, { rootMargin: "600px" });
    try {
      plotly = await unpacked();
      if (!plotly) throw new Error("the script did not run");
    } catch (error) {
      const text = typeof DecompressionStream === "undefined"
        ? "This browser is too old to draw the figures of this page: use Chrome 80, Edge 80, Firefox 113, Safari 16.4 or newer. Texts and tables are complete."
        : `The figures of this page cannot be drawn here (${error}). Texts and tables are complete.`;
      for (const f of figures) { f.style.height = "auto"; f.innerHTML = '<p class="trouble"></p>'; f.firstChild.textContent = text; }
      return;
    }
    figures.forEach((f) => near.observe(f));
    // the others in idle moments, so that printing and searching find them
    const idle = window.requestIdleCallback || ((work) => setTimeout(work, 60));
    const rest = () => {
      const next = figures.find((f) => !f.dataset.drawn);
      if (next) { draw(next); idle(rest); } else document.documentElement.dataset.ready = "yes";
    };
    setTimeout(() => idle(rest), 400);
    night.addEventListener("change", () => { if (!printing) figures.forEach((f) => { undraw(f); near.observe(f); }); });
  }

  addEventListener("beforeprint", () => {
    printing = true;
    document.querySelectorAll("details").forEach((d) => { d.dataset.was = d.open ? "open" : ""; if (d.closest("nav")) d.open = true; });
    if (!plotly) return;
    for (const f of figures) {
      if (night.matches) undraw(f);
      draw(f);
      plotly.relayout(f, { width: 690, autosize: false });
    }
  });
  addEventListener("afterprint", () => {
    printing = false;
    document.querySelectorAll("details").forEach((d) => { d.open = d.dataset.was === "open"; });
    if (plotly) for (const f of figures) {
      if (night.matches) { undraw(f); draw(f); } else plotly.relayout(f, { width: null, autosize: true });
    }
  });
  document.getElementById("print")?.addEventListener("click", () => print());

  async function copied(button, text) {
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    const before = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  }
  for (const button of document.querySelectorAll("button.copy")) button.addEventListener("click", () => {
    const from = button.parentElement.querySelector("table, pre");
    copied(button, from.tagName === "PRE" ? from.textContent
      : [...from.rows].map((r) => [...r.cells].map((c) => c.textContent.trim()).join("\t")).join("\n"));
  });
  begin();
})();
