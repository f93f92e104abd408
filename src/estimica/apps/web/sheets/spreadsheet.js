// A table that is filled like a spreadsheet: arrow keys, Tab, Enter, copy, cut, paste, fill down and right.
// How a selection goes on below: numbers an equal step apart, names that end in such numbers, else the same again.
export function series(texts) {
  const again = (k) => texts[k % texts.length];
  const parts = texts.map((text) => /^(.*?)([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)$/s.exec(text));
  if (texts.length < 2 || parts.some((p) => !p || p[1] !== parts[0][1])) return again;
  const named = parts[0][1] !== "";  // as "run 1": its numbers are counted
  if (named && parts.some((p) => !/^\d+$/.test(p[2]))) return again;
  const numbers = parts.map((p) => Number(p[2].replace(",", ".")));
  const step = numbers[1] - numbers[0], size = Math.max(...numbers.map(Math.abs), Math.abs(step));
  const even = numbers.every((n, k) => Math.abs(n - numbers[0] - k * step) <= 1e-9 * size);  // as typed, not as computed
  if (!even || step === 0) return again;
  const after = (text) => (/[.,](\d*)/.exec(text)?.[1] ?? "").length;
  const plain = parts.every((p) => !/[eE]/.test(p[2])), decimals = Math.max(...parts.map((p) => after(p[2])));
  const comma = parts.some((p) => p[2].includes(","));
  return (k) => {
    const number = numbers[0] + k * step, text = plain ? number.toFixed(decimals) : String(Number(number.toPrecision(12)));
    return parts[0][1] + (comma ? text.replace(".", ",") : text);
  };
}

export default {
  template: `
  <div class="est-sheet">
    <div class="est-wide">
    <table ref="table" role="grid" :aria-label="label" tabindex="0" @keydown="key" @copy="copy" @cut="cut" @paste="paste"
           @mousedown="press" @mouseover="drag" @dblclick="open" @focusin="focused = true" @focusout="leave">
      <thead><tr>
        <th class="head"></th>
        <th v-for="(c, k) in columns" :key="k" scope="col" :title="c.about || null" :class="c.kind">
          <span>{{ c.label }}</span><span v-if="c.unit" class="est-soft"> [{{ c.unit }}]</span>
          <button v-if="c.removable" type="button" tabindex="-1" :aria-label="'Remove the column ' + c.label"
                  @mousedown.stop @click="$emit('removecolumn', { column: k })">×</button>
        </th><th v-if="rows.some((r) => r.removable)"></th>
      </tr></thead>
      <tbody>
        <tr v-for="(row, r) in shown" :key="r" :class="{ off: row.off }">
          <td class="head"><a v-if="row.link" :href="row.link" :aria-label="'All fields of ' + row.name" tabindex="-1" @mousedown.stop>{{ r + 1 }}</a>
            <span v-else>{{ row.extra ? '+' : r + 1 }}</span></td>
          <td v-for="(cell, c) in row.cells" :key="c" role="gridcell" :data-row="r" :data-column="c"
              :class="[columns[c].kind, { on: picked(r, c), at: r === at[0] && c === at[1], bad: cell.wrong, locked: cell.locked, fill: filled(r, c) }]"
              :title="cell.wrong || null" :aria-invalid="cell.wrong ? 'true' : null" :aria-selected="picked(r, c)">
            <select v-if="editing && r === at[0] && c === at[1] && columns[c].kind === 'choice'" ref="box" v-model="draft"
                    :aria-label="name(r, c)" @change="commit(0, 0)" @keydown.stop="typed" @blur="commit(0, 0)">
              <option v-for="w in columns[c].choices" :key="w" :value="w">{{ w }}</option></select>
            <input v-else-if="editing && r === at[0] && c === at[1]" ref="box" v-model="draft" :aria-label="name(r, c)"
                   :list="columns[c].choices.length ? 'choices-' + c + label : null" autocomplete="off"
                   @keydown.stop="typed" @blur="commit(0, 0)" @mousedown.stop @copy.stop @cut.stop @paste.stop>
            <span v-else-if="columns[c].kind === 'truth'" class="tick">{{ row.extra ? '' : value(r, c) === 'true' ? '☑' : '☐' }}</span>
            <span v-else-if="value(r, c) !== ''">{{ value(r, c) }}</span>
            <span v-else class="hint">{{ cell.placeholder }}</span>
            <i v-if="corner(r, c)" class="handle" title="Drag to fill" @mousedown.stop.prevent="grab"></i>
          </td>
          <td v-if="rows.some((r) => r.removable)" class="head"><button v-if="row.removable" type="button" :aria-label="'Remove ' + row.name"
              tabindex="-1" @mousedown.stop @click="$emit('removerow', { row: r })">×</button></td>
        </tr>
      </tbody>
    </table>
    <datalist v-for="(c, k) in columns" :key="k" :id="'choices-' + k + label"><option v-for="w in c.choices" :key="w" :value="w"></option></datalist>
    </div>
    <div v-for="(w, k) in wrong.slice(0, 5)" :key="k" class="est-bad est-pre">{{ w }}</div>
    <div v-if="wrong.length > 5" class="est-bad">… and {{ wrong.length - 5 }} more</div>
  </div>`,
  props: { columns: Array, rows: Array, label: String, extra: Boolean },
  emits: ["edit", "removerow", "removecolumn"],
  data() {
    return { at: [0, 0], anchor: [0, 0], editing: false, draft: "", focused: false, dragging: false, fillTo: null, pending: {} };
  },
  computed: {
    shown() {
      if (!this.extra) return this.rows;
      const blank = { cells: this.columns.map(() => ({ text: "", placeholder: "", wrong: "" })), extra: true };
      return [...this.rows, blank];
    },
    box() {  // of the selection: top, bottom, left, right
      const [[r, c], [s, d]] = [this.at, this.anchor];
      return [Math.min(r, s), Math.max(r, s), Math.min(c, d), Math.max(c, d)];
    },
    wrong() {
      const out = [];
      this.rows.forEach((row) => row.cells.forEach((cell, c) => {
        if (cell.wrong) out.push(`${row.name}, ${this.columns[c].label}: ${cell.wrong}`);
      }));
      return out;
    },
  },
  watch: {
    rows() { this.pending = {}; this.clamp(); },
    columns() { this.clamp(); },
  },
  mounted() {
    this.release = () => this.drop();
    document.addEventListener("mouseup", this.release);
  },
  unmounted() { document.removeEventListener("mouseup", this.release); },
  methods: {
    name(r, c) { const row = this.shown[r]; return `${row.name || "new"}, ${this.columns[c].label}`; },
    value(r, c) { return this.pending[`${r},${c}`] ?? this.shown[r].cells[c].text; },
    clamp() {
      const most = [this.shown.length - 1, this.columns.length - 1];
      for (const p of ["at", "anchor"]) this[p] = [Math.max(0, Math.min(this[p][0], most[0])), Math.max(0, Math.min(this[p][1], most[1]))];
    },
    picked(r, c) {
      const [t, b, l, g] = this.box;
      return this.focused && r >= t && r <= b && c >= l && c <= g;
    },
    corner(r, c) { return this.focused && !this.editing && r === this.box[1] && c === this.box[3]; },
    filled(r, c) {
      const [, b, l, g] = this.box;
      return this.fillTo !== null && r > b && r <= this.fillTo && c >= l && c <= g;
    },
    place(event) {
      const cell = event.target.closest("td[data-row]");
      return cell && [Number(cell.dataset.row), Number(cell.dataset.column)];
    },
    // --- the mouse -------------------------------------------------------------------------
    press(event) {
      const p = this.place(event);
      if (!p || event.button !== 0) return;
      if (this.editing) this.commit(0, 0);
      this.at = p;
      if (!event.shiftKey) this.anchor = p;
      this.dragging = true;
      event.preventDefault();
      this.$refs.table.focus({ preventScroll: true });
      if (this.columns[p[1]].kind === "truth" && !event.shiftKey && event.target.closest(".tick")) this.toggle();
    },
    drag(event) {
      const p = this.place(event);
      if (!p) return;
      if (this.fillTo !== null) this.fillTo = Math.max(p[0], this.box[1]);
      else if (this.dragging && !this.editing) this.anchor = p;
    },
    drop() {
      this.dragging = false;
      if (this.fillTo !== null) {
        const [t, b, l, g] = this.box, to = this.fillTo, changes = [];
        this.fillTo = null;
        for (let c = l; c <= g; c++) {
          const next = series(Array.from({ length: b - t + 1 }, (_, k) => this.value(t + k, c)));
          for (let r = b + 1; r <= to; r++) changes.push([r, c, next(r - t)]);
        }
        this.send(changes);
        if (to > b) { this.anchor = [t, l]; this.at = [to, g]; this.clamp(); }
      }
    },
    grab() { this.fillTo = this.box[1]; this.$refs.table.focus({ preventScroll: true }); },
    open() { if (!this.editing) this.begin(this.value(...this.at)); },
    leave(event) { if (!this.$refs.table.contains(event.relatedTarget)) this.focused = false; },
    // --- keys ------------------------------------------------------------------------------
    key(event) {
      const [r, c] = this.at, k = event.key, far = event.ctrlKey || event.metaKey;
      const last = [this.shown.length - 1, this.columns.length - 1];
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (this.editing) return;
      if (steps[k]) this.move(far ? [steps[k][0] * 1e6, steps[k][1] * 1e6] : steps[k], event.shiftKey);
      else if (k === "Tab") { if (!this.along(event.shiftKey ? -1 : 1)) return; }
      else if (k === "Enter") this.move([event.shiftKey ? -1 : 1, 0], false);
      else if (k === "Home") this.jump([far ? 0 : r, 0], event.shiftKey);
      else if (k === "End") this.jump([far ? last[0] : r, last[1]], event.shiftKey);
      else if (k === "PageUp" || k === "PageDown") this.move([k === "PageUp" ? -10 : 10, 0], event.shiftKey);
      else if (k === "F2") this.begin(this.value(r, c));
      else if (k === "Delete" || k === "Backspace") this.send(this.every(() => ""));
      else if (k === " " && this.columns[c].kind === "truth") this.toggle();
      else if (far && k.toLowerCase() === "d") this.fill(1, 0);
      else if (far && k.toLowerCase() === "r") this.fill(0, 1);
      else if (far && k.toLowerCase() === "a") { this.anchor = [0, 0]; this.at = [this.rows.length - 1, last[1]]; this.clamp(); }
      else if (k.length === 1 && !far && !event.altKey) this.begin(this.columns[c].kind === "choice" ? this.value(r, c) : k);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    typed(event) {  // within a cell
      const steps = { Enter: [event.shiftKey ? -1 : 1, 0], Tab: [0, event.shiftKey ? -1 : 1] };
      if (event.key === "Escape") { this.editing = false; this.back(); }
      else if (steps[event.key]) this.commit(...steps[event.key], true);
      else return;
      event.preventDefault();
    },
    move(step, extend) { this.jump([this.at[0] + step[0], this.at[1] + step[1]], extend); },
    jump(to, extend) {
      this.at = [Math.max(0, Math.min(to[0], this.shown.length - 1)), Math.max(0, Math.min(to[1], this.columns.length - 1))];
      if (!extend) this.anchor = this.at;
      this.$nextTick(() => this.cell()?.scrollIntoView({ block: "nearest", inline: "nearest" }));
    },
    along(by) {  // Tab goes on in the next row, and leaves the table behind its last cell
      const n = this.columns.length, k = this.at[0] * n + this.at[1] + by;
      if (k < 0 || k >= n * this.shown.length) return false;
      this.jump([Math.floor(k / n), k % n], false);
      return true;
    },
    cell() { return this.$refs.table?.querySelector(`td[data-row="${this.at[0]}"][data-column="${this.at[1]}"]`); },
    back() { this.$nextTick(() => this.$refs.table.focus({ preventScroll: true })); },
    begin(text) {
      const [r, c] = this.at;
      if (this.shown[r].cells[c].locked) return;
      if (this.columns[c].kind === "truth") return this.toggle();
      this.draft = text;
      this.editing = true;
      this.$nextTick(() => { const box = [this.$refs.box].flat()[0]; box?.focus(); if (box?.setSelectionRange) box.setSelectionRange(text.length, text.length); });
    },
    commit(down, right, refocus = false) {
      if (!this.editing) return;
      this.editing = false;
      const [r, c] = this.at;
      if (this.draft !== this.value(r, c)) this.send([[r, c, this.draft]]);
      if (down) this.jump([r + down, c], false);
      else if (right) this.along(right);
      if (refocus) this.back();
    },
    toggle() { const [r, c] = this.at; this.send([[r, c, this.value(r, c) === "true" ? "false" : "true"]]); },
    // --- many cells ------------------------------------------------------------------------
    every(text) {
      const [t, b, l, g] = this.box, changes = [];
      for (let r = t; r <= b; r++) for (let c = l; c <= g; c++) changes.push([r, c, text(r, c)]);
      return changes;
    },
    fill(down, right) {
      const [t, b, l, g] = this.box;
      const from = (r, c) => (down ? (t === b ? [Math.max(t - 1, 0), c] : [t, c]) : (l === g ? [r, Math.max(l - 1, 0)] : [r, l]));
      this.send(this.every((r, c) => this.value(...from(r, c))));
    },
    text() {
      const [t, b, l, g] = this.box, lines = [];
      for (let r = t; r <= b; r++) {
        const cells = [];
        for (let c = l; c <= g; c++) cells.push(this.value(r, c) || this.shown[r].cells[c].placeholder);
        lines.push(cells.join("\t"));
      }
      return lines.join("\n");
    },
    copy(event) { if (!this.editing) { event.clipboardData.setData("text/plain", this.text()); event.preventDefault(); } },
    cut(event) { if (!this.editing) { this.copy(event); this.send(this.every(() => "")); } },
    paste(event) {
      if (this.editing) return;
      event.preventDefault();
      const lines = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((l) => l.split("\t"));
      const [t, b, l, g] = this.box;
      if (lines.length === 1 && lines[0].length === 1) return this.send(this.every(() => lines[0][0].trim()));
      const height = Math.max(lines.length, (b - t + 1) % lines.length ? 0 : b - t + 1);  // repeated over a larger selection
      const changes = [];
      for (let r = 0; r < height; r++) lines[r % lines.length].forEach((text, c) => changes.push([t + r, l + c, text.trim()]));
      this.send(changes);
      this.anchor = [t, l];
      this.at = [Math.min(t + height - 1, this.shown.length - 1), Math.min(l + lines[0].length - 1, this.columns.length - 1)];
      this.clamp();
    },
    send(changes) {
      const open = changes.filter(([r, c]) => !(this.shown[r]?.cells[c]?.locked));
      for (const [r, c, text] of open) if (this.shown[r]?.cells[c]) this.pending[`${r},${c}`] = text;
      if (open.length) this.$emit("edit", { changes: open });
    },
  },
};
