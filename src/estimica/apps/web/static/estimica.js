// What all pages share: the theme, and figures drawn with it.
window.estimica = (() => {
  const KEY = "estimica-theme";
  const dark = () => document.body.classList.contains("body--dark");

  function applyTheme() {
    const chosen = localStorage.getItem(KEY);
    const wanted = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    if (window.Quasar) Quasar.Dark.set(wanted);
    document.dispatchEvent(new Event("est-theme"));
  }
  function toggleTheme() {
    localStorage.setItem(KEY, dark() ? "light" : "dark");
    applyTheme();
  }

  let library = null;
  function plotly() {  // fetched when the first figure is drawn
    if (window.Plotly) return Promise.resolve(window.Plotly);
    library ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = "/assets/plotly.min.js";
      script.onload = () => done(window.Plotly);
      script.onerror = () => failed(new Error("plotly.min.js could not be loaded"));
      document.head.appendChild(script);
    });
    return library;
  }

  // The figures are made for white paper: ink and grid change with the theme.
  function themed(layout) {
    const style = getComputedStyle(document.body);
    const read = (name) => style.getPropertyValue(name).trim();
    const ink = read("--est-ink"), line = read("--est-line");
    const out = { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
    out.modebar = { bgcolor: "rgba(0,0,0,0)", color: read("--est-soft"), activecolor: read("--est-accent") };
    out.font = { ...(layout.font || {}), color: ink };
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key))
        out[key] = { ...layout[key], gridcolor: line, linecolor: read("--est-soft"), tickcolor: line };
      if (/^legend\d*$/.test(key)) out[key] = { ...layout[key], bgcolor: "rgba(0,0,0,0)" };
    }
    return out;
  }

  async function draw(element, figure) {
    const Plotly = await plotly();
    if (!element.isConnected) return;
    const ink = getComputedStyle(document.body).getPropertyValue("--est-ink").trim();
    const data = (figure.data || []).map((t) => (t.error_x ? { ...t, error_x: { ...t.error_x, color: ink } } : t));
    await Plotly.react(element, data, themed(figure.layout || {}),
      { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] });
  }

  document.addEventListener("DOMContentLoaded", () => setTimeout(applyTheme, 0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  return { applyTheme, toggleTheme, draw, dark };
})();
