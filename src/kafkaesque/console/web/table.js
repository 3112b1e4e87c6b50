// A table that the server fills and the browser sorts and filters.
//
// columns: {name, label, kind, minor}; kind is text, link, number, bytes, rate, duration, spark or state.
// rows: {id, <name>: value}; a link is {text, href}; null is shown as a dash and sorts last.
// Numbers come raw and are written here, so that sorting needs no second copy of them.

import { count, write } from "/console/numbers.js";

const LIMIT = 500;

export default {
  template: `
    <div class="k-table">
      <div v-if="searchable" class="k-toolbar">
        <input class="k-input k-filter" type="search" v-model="needle" autocomplete="off" spellcheck="false"
          :placeholder="'Filter ' + noun + 's'" :aria-label="'Filter ' + noun + 's by name'" data-shortcut="/" />
        <label v-if="hideable" class="k-switch"><input type="checkbox" v-model="all" />{{ hideable }}</label>
        <span class="k-count">{{ counted }}</span>
      </div>
      <div class="k-scroll" v-if="shown.length" tabindex="-1">
        <table :aria-label="noun + 's'">
          <thead><tr>
            <th v-for="column in columns" :key="column.name" :class="look(column, false)" :aria-sort="order(column)">
              <button type="button" @click="sort(column)" :title="column.hint">{{ column.label }}</button>
            </th>
          </tr></thead>
          <tbody>
            <tr v-for="row in drawn" :key="row.id" :data-row="row.id" :class="{ 'k-open': linked }" @click="open">
              <td v-for="column in columns" :key="column.name" :class="look(column, true)" :data-cell="column.name">
                <template v-if="row[column.name] == null"><span class="k-none">–</span></template>
                <a v-else-if="column.kind === 'link'" :href="row[column.name].href">{{ row[column.name].text }}</a>
                <svg v-else-if="column.kind === 'spark'" class="k-spark" viewBox="0 0 120 24" preserveAspectRatio="none" aria-hidden="true">
                  <path class="k-spark-area" :d="spark(row[column.name]).area" />
                  <path class="k-spark-line" :d="spark(row[column.name]).line" />
                </svg>
                <span v-else-if="column.kind === 'state'" class="k-state" :data-state="row[column.name]">{{ row[column.name] }}</span>
                <template v-else>{{ write(row[column.name], column.kind) }}</template>
              </td>
            </tr>
          </tbody>
        </table>
      </div>
      <p v-if="shown.length > drawn.length" class="k-empty">{{ shown.length - drawn.length }} more: use the filter.</p>
      <p v-if="!shown.length" class="k-empty">{{ rows.length && (needle || hideable) ? 'No ' + noun + ' matches.' : empty }}</p>
    </div>
  `,
  props: {
    columns: Array,
    rows: Array,
    noun: String,
    empty: String,
    searchable: Boolean,
    hideable: String,
    sorted: Object,
  },
  data() {
    return { needle: "", all: false, by: this.sorted?.by, down: this.sorted?.down ?? false };
  },
  computed: {
    linked() {
      return this.columns[0]?.kind === "link";
    },
    candidates() {
      return this.hideable && !this.all ? this.rows.filter((row) => !row.hidden) : this.rows;
    },
    shown() {
      const needle = this.needle.trim().toLowerCase();
      const name = this.columns[0].name;
      const found = needle
        ? this.candidates.filter((row) => String(this.key(row, name)).toLowerCase().includes(needle))
        : [...this.candidates];
      return this.by ? found.sort((a, b) => this.compare(a, b)) : found;
    },
    drawn() {
      return this.shown.slice(0, LIMIT);
    },
    counted() {
      const [shown, all] = [this.shown.length, this.candidates.length];
      const noun = all === 1 ? this.noun : this.noun + "s";
      return shown === all ? `${count(all)} ${noun}` : `${count(shown)} of ${count(all)} ${noun}`;
    },
  },
  methods: {
    key(row, name) {
      const value = row[name];
      if (Array.isArray(value)) return value.at(-1);
      return value?.text ?? value;
    },
    compare(a, b) {
      const [x, y] = [this.key(a, this.by), this.key(b, this.by)];
      if (x == null || y == null) return (x == null) - (y == null);
      const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return this.down ? -order : order;
    },
    sort(column) {
      const first = column.kind !== "text" && column.kind !== "link" && column.kind !== "state";
      this.down = this.by === column.name ? !this.down : first;
      this.by = column.name;
    },
    order(column) {
      return this.by === column.name ? (this.down ? "descending" : "ascending") : null;
    },
    look(column, isCell) {
      const right = ["number", "bytes", "rate", "duration"].includes(column.kind);
      return { "k-right": right, "k-minor": column.minor, "k-mono": isCell && column.mono };
    },
    write,
    spark(values) {
      // The newest is at the right edge; a minute that has not passed yet is empty at the left.
      const top = Math.max(...values, 1e-9);
      const x = (index) => (120 - ((values.length - 1 - index) * 120) / 59).toFixed(1);
      const points = values.map((value, index) => `${x(index)} ${(23 - (value / top) * 21).toFixed(1)}`);
      const line = "M" + points.join(" L");
      return values.length > 1 ? { line, area: `${line} V24 H${x(0)} Z` } : {};
    },
    open(event) {
      if (!this.linked || event.target.closest("a") || String(getSelection())) return;
      event.currentTarget.querySelector("a")?.click();
    },
  },
};
