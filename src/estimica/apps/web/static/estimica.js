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

  function isDark(colour) {  // too dark for a dark page, as "#444444"
    if (!/^#[0-9a-f]{6}$/i.test(colour)) return false;
    const parts = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
    return Math.max(...parts) < 112;
  }

  async function draw(element, figure) {
    const Plotly = await plotly();
    if (!element.isConnected) return;
    const ink = getComputedStyle(document.body).getPropertyValue("--est-ink").trim();
    const data = (figure.data || []).map((trace) => {
      const t = { ...trace };
      if (t.error_x) t.error_x = { ...t.error_x, color: ink };
      for (const key of ["marker", "line"])
        if (t[key] && dark() && isDark(t[key].color)) t[key] = { ...t[key], color: ink };
      return t;
    });
    await Plotly.react(element, data, themed(figure.layout || {}),
      { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] });
  }

  // The study was changed elsewhere: show it anew, but not while somebody types here.
  let waiting = false;
  const typing = () => document.activeElement?.matches("input:not([type=checkbox]), textarea");
  function renew() {
    if (document.querySelector("[data-renews]")) return;  // it renews itself
    if (document.querySelector("[data-unsaved]")) {
      if (!waiting) Quasar.Notify.create({ message: "The study was changed elsewhere.", timeout: 0, group: "changed",
        actions: [{ label: "Show it", handler: () => location.reload() }, { label: "Later" }] });
      waiting = true;
    } else if (!typing()) {
      location.reload();
    } else if (!waiting) {
      waiting = true;
      document.addEventListener("focusout", () => setTimeout(() => { if (!typing()) location.reload(); }, 600));
    }
  }

  // A file, or the reason why there is none.
  async function download(address) {
    const told = Quasar.Notify.create({ message: "The file is made …", spinner: true, timeout: 0, group: false });
    try {
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(await answer.text());
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "")?.[1] || "";
      document.body.appendChild(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    } catch (error) {
      Quasar.Notify.create({ message: error.message, type: "negative", timeout: 0, multiLine: true, actions: [{ label: "Close", color: "white" }] });
    } finally {
      told();
    }
  }

  // The field that a message leads to: what it stands in is opened, it is scrolled to, focused and marked.
  const PATIENCE = 60000, CALM = 700;  // ms: a model may be loaded first; nothing nearer has come since
  function nearest(key) {  // the field itself, or else what it stands in
    for (let k = key; k; k = k.slice(0, Math.max(k.lastIndexOf("/"), 0))) {
      const found = document.querySelector(`[data-place="${CSS.escape(k)}"]`);
      if (found) return { found, exact: k === key };
    }
    return null;
  }
  function mark(element) {
    for (let fold = element.closest(".q-expansion-item"); fold; fold = fold.parentElement.closest(".q-expansion-item"))
      if (!fold.classList.contains("q-expansion-item--expanded")) fold.querySelector(".q-expansion-item__container > .q-item")?.click();
    const field = element.closest(".q-field") || element;
    setTimeout(() => {
      field.scrollIntoView({ block: "center" });
      const focus = "input, textarea, [tabindex]:not([tabindex='-1'])";
      (element.matches(focus) ? element : field.querySelector(focus))?.focus({ preventScroll: true });
      field.dataset.landed = "1";  // not a class: those are drawn anew with every message
      setTimeout(() => delete field.dataset.landed, 6000);
    }, 350);  // until what was folded is open
  }
  function land(key) {
    const begun = Date.now();
    let best = null, since = begun;
    const look = () => {
      const now = nearest(key);
      if (now?.found !== best) { best = now?.found ?? null; since = Date.now(); }
      const busy = document.querySelector(".est-empty .q-spinner") !== null;
      if (now && (now.exact || (!busy && Date.now() - since > CALM))) return mark(now.found);
      if (Date.now() - begun < PATIENCE) setTimeout(look, 100);
    };
    look();
  }

  const asked = new URL(location.href);
  if (asked.searchParams.has("token")) {  // it is a cookie now, and no longer for all to see
    asked.searchParams.delete("token");
    history.replaceState(null, "", asked);
  }
  const wanted = asked.searchParams.get("field");
  if (wanted) {  // once: a reload does not jump again
    asked.searchParams.delete("field");
    history.replaceState(null, "", asked);
  }
  document.addEventListener("DOMContentLoaded", () => { setTimeout(applyTheme, 0); if (wanted) land(wanted); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  return { applyTheme, toggleTheme, draw, dark, renew, download };
})();
