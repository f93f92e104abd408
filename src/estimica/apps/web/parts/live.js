// A run as it goes: progress, cost, values and curves, from the stream that all viewers share.
export default {
  template: `
  <div class="est-live" style="width:100%">
    <div v-if="!state" class="est-empty">Waiting for the run …</div>
    <template v-else>
      <div style="display:flex;align-items:center;gap:12px;flex-wrap:wrap;margin-bottom:6px">
        <span :class="'est-status ' + state.status">{{ state.status }}</span>
        <span>{{ state.text || state.message }}</span>
        <span style="flex:1"></span>
        <span class="est-soft" v-if="state.status === 'running'">{{ timing }}</span>
      </div>
      <div v-if="state.status === 'running'" :class="['est-bar', state.share == null ? 'endless' : '']" role="progressbar"
           :aria-valuenow="state.share == null ? null : Math.round(100 * state.share)" aria-valuemin="0" aria-valuemax="100">
        <div :style="state.share == null ? {} : {width: 100 * state.share + '%'}"></div>
      </div>
      <div v-if="lost" class="est-warn">The connection is lost; it is tried again …</div>
      <div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:16px;margin-top:12px">
        <div v-show="!arriving && (names.length || costs.length)"><div ref="cost" style="height:220px"></div></div>
        <div v-if="names.length" class="est-wide">
          <table class="est"><thead><tr><th>tuner</th><th class="number">value now</th><th v-if="arriving" class="number">std. error</th>
            <th class="number">at the start</th></tr></thead>
          <tbody><tr v-for="n in names" :key="n"><td class="est-mono">{{ n }}</td>
            <td class="number" :data-value="n">{{ short(newest[n]) }}</td>
            <td v-if="arriving" class="number">{{ brief(errors[n]) }}</td>
            <td class="number est-soft">{{ short(first[n]) }}</td></tr></tbody></table>
        </div>
        <div v-if="arriving" class="est-wide" data-live="alarms">
          <div class="est-soft">{{ arriving.taken }} samples taken in, the last at {{ arriving.stamp }}</div>
          <div v-if="!arriving.alarms.length" class="est-good">No changes so far</div>
          <table v-else class="est"><thead><tr><th>seen at</th><th>since about</th><th>of</th><th>change</th></tr></thead>
          <tbody><tr v-for="a in [...arriving.alarms].reverse()" :key="a.seen + a.name" class="est-bad"><td>{{ a.seen }}</td><td>{{ a.since }}</td>
            <td class="est-mono">{{ a.name }}</td><td>{{ a.change }}</td></tr></tbody></table>
        </div>
      </div>
      <div ref="courses" v-show="arriving" data-live="courses" style="width:100%"></div>
      <div v-if="criteria.length" class="est-wide" style="margin-top:12px" data-live="criteria">
        <div class="est-soft">{{ held }}</div>
        <table class="est"><thead><tr><th>criterion</th><th>case</th><th class="number">value now</th>
          <th class="number">at the start</th><th class="number">demand</th><th></th></tr></thead>
        <tbody><tr v-for="c in criteria" :key="c.case + '|' + c.criterion" :data-criterion="c.criterion" :data-case="c.case">
          <td>{{ c.criterion }}<span class="est-soft" v-if="c.unit"> [{{ c.unit }}]</span></td><td>{{ c.case }}</td>
          <td class="number">{{ told(c.value) }}</td><td class="number est-soft">{{ told(c.first) }}</td>
          <td class="number">{{ c.role === 'watch' ? '' : (c.role === 'equal' ? '= ' : '≤ ') + told(c.demand) }}</td>
          <td><span v-if="c.role !== 'watch'" :class="c.holds ? 'est-good' : 'est-bad'">{{ c.holds ? '✓ met' : '✗ missed' }}</span>
            <span v-else class="est-soft">only watched</span></td></tr></tbody></table>
      </div>
      <div v-if="errn.length" class="est-soft" style="margin-top:8px">{{ errn.join(" · ") }}</div>
      <div ref="curves" class="est-figure" v-show="state.figure" data-live="curves"></div>
    </template>
  </div>`,
  props: { src: String },
  data() { return { state: null, lost: false, now: Date.now() / 1000 }; },
  computed: {
    steps() { return (this.state && this.state.iterations) || []; },
    costs() { return this.steps.filter((s) => s.cost != null); },
    newest() { const s = this.steps[this.steps.length - 1]; return (s && s.values) || {}; },
    first() { const s = this.steps[0]; return (s && s.values) || {}; },
    names() { return Object.keys(this.newest); },
    errors() { const s = this.steps[this.steps.length - 1]; return (s && s.errors) || {}; },
    arriving() { const m = this.state && this.state.monitor; return m && m.stamp ? m : null; },
    errn() {
      const out = [];
      for (const [name, outputs] of Object.entries((this.state && this.state.errn) || {}))
        for (const [o, v] of Object.entries(outputs)) if (v != null) out.push(`${name}, ${o}: errn ${v.toPrecision(3)} %`);
      return out;
    },
    criteria() { return (this.state && this.state.criteria) || []; },
    held() {
      const asked = this.criteria.filter((c) => c.role !== "watch");
      return `Best design so far: ${asked.filter((c) => c.holds).length} of ${asked.length} demands are met`;
    },
    timing() {
      const going = Math.max(0, this.now - this.state.started);
      const left = this.state.eta == null ? "" : `, about ${this.span(this.state.eta)} left`;
      return `${this.span(going)}${left}`;
    },
  },
  mounted() {
    this.again = () => this.draw();
    document.addEventListener("est-theme", this.again);
    this.clock = setInterval(() => { this.now = Date.now() / 1000; }, 1000);
    this.open();
    window.estimica.draw(document.createElement("div"), {}).catch(() => {});  // fetches the library early
  },
  unmounted() { this.close(); clearInterval(this.clock); document.removeEventListener("est-theme", this.again); },
  methods: {
    open() {
      this.stream = new EventSource(this.src);
      this.stream.onmessage = (event) => {
        this.lost = false;
        const { more, ...news } = JSON.parse(event.data);
        if (more) news.iterations = [...this.steps, ...more];
        this.state = { ...(this.state || {}), ...news };
        this.$nextTick(() => this.draw());
        if (this.state.status !== "running") { this.close(); this.$emit("ended", this.state.status); }
      };
      this.stream.onerror = () => { this.lost = true; };
    },
    close() { if (this.stream) this.stream.close(); this.stream = null; },
    told(v) { return typeof v === "string" ? v : this.short(v); },
    short(v) { return v == null ? "" : Number(v.toPrecision(6)).toString(); },
    brief(v) { return v == null ? "" : Number(v.toPrecision(2)).toString(); },
    span(s) { return s < 60 ? `${s.toFixed(0)} s` : s < 3600 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${(s / 3600).toFixed(1)} h`; },
    // Estimates with their 95 % bands over the time of the data, and how near an alarm is: 1 is one.
    courses() {
      const steps = this.steps.filter((s) => s.at != null), x = steps.map((s) => s.at);
      const shown = this.names.slice(0, 8), count = shown.length + 1, height = 130;
      const data = [], layout = { height: 60 + height * count, margin: { l: 72, r: 12, t: 12, b: 44 }, showlegend: false, shapes: [] };
      const axis = (k) => (k ? `y${k + 1}` : "y");
      const place = (k, title) => {
        layout[`yaxis${k ? k + 1 : ""}`] = { title: { text: title, font: { size: 12 } }, domain: [1 - (k + 0.88) / count, 1 - k / count],
          zeroline: false, nticks: 4, exponentformat: "power" };
      };
      shown.forEach((name, k) => {
        const value = (s) => (s.values[name] == null ? null : s.values[name]);
        const reach = (s, sign) => (value(s) == null || (s.errors || {})[name] == null ? null : value(s) + sign * 1.96 * s.errors[name]);
        const edge = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", x, yaxis: axis(k) };
        data.push({ ...edge, y: steps.map((s) => reach(s, -1)) });
        data.push({ ...edge, y: steps.map((s) => reach(s, 1)), fill: "tonexty", fillcolor: "rgba(0,114,178,0.2)" });
        data.push({ x, y: steps.map(value), yaxis: axis(k), mode: "lines", line: { color: "#0072B2", width: 2 }, name, hovertemplate: "%{y:.6g}<extra></extra>" });
        place(k, name);
      });
      const last = count - 1;
      data.push({ x, y: steps.map((s) => s.level), yaxis: axis(last), mode: "lines", line: { color: "#0072B2", width: 1 }, name: "alarm level", hovertemplate: "%{y:.3g}<extra></extra>" });
      place(last, "alarm level");
      layout[`yaxis${last ? last + 1 : ""}`].rangemode = "tozero";
      layout.xaxis = { title: { text: this.arriving.dated ? "" : "time [s]" }, anchor: axis(last), zeroline: false };
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: axis(last), y0: 1, y1: 1, line: { color: "#D55E00", width: 1, dash: "dash" } });
      for (const a of this.arriving.alarms) {
        const at = this.arriving.dated ? a.seen : a.time;
        layout.shapes.push({ type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1, line: { color: "#D55E00", width: 1.5 } });
      }
      return { data, layout };
    },
    draw() {
      const costs = this.costs;
      if (this.arriving && this.$refs.courses) {
        const figure = this.courses();
        this.$refs.courses.style.height = figure.layout.height + "px";
        window.estimica.draw(this.$refs.courses, figure);
      }
      if (this.$refs.cost && costs.length) {
        const positive = costs.every((s) => s.cost > 0);
        window.estimica.draw(this.$refs.cost, {
          data: [{ x: costs.map((s) => s.number), y: costs.map((s) => s.cost), mode: "lines+markers",
                   line: { color: "#0072B2", width: 2 }, marker: { size: 5 }, hovertemplate: "%{y:.6g}<extra></extra>" }],
          layout: { height: 220, margin: { l: 64, r: 12, t: 24, b: 40 }, title: { text: this.criteria.length ? "what the search goes by" : "cost", x: 0.02, font: { size: 14 } },
                    xaxis: { title: { text: this.criteria.length ? "design" : "step" }, zeroline: false, rangemode: "tozero" },
                    yaxis: { type: positive ? "log" : "linear", zeroline: false, automargin: true, nticks: 6, exponentformat: "power" } } });
      }
      if (this.$refs.curves && this.state && this.state.figure) {
        const figure = this.state.figure;
        if (figure.layout && figure.layout.height) this.$refs.curves.style.height = figure.layout.height + "px";
        window.estimica.draw(this.$refs.curves, figure);
        this.$refs.curves.dataset.version = String(this.state.version ?? "");
      }
    },
  },
};
