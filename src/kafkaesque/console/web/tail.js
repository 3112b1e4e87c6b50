// The live tail of a topic: its controls, and the newest records on top.
//
// The server sends only what is new (`update`), at most ten times a second, and the rows are kept
// here. There are two filters, a plain text and a condition; the server applies both, this only marks
// where the text was found, and shows what is wrong with the condition.
// Events to the server: start {last}, pause, clear, filter text, where text, open number.

import { count } from "/console/numbers.js";

export default {
  template: `
    <section class="k-panel k-tail" :data-state="state" :data-source="source" :data-updates="updates" aria-label="Live tail">
      <div class="k-toolbar">
        <h2>Live tail</h2>
        <button v-if="state !== 'live'" type="button" class="k-button k-primary" :disabled="!!wrong" @click="start">
          {{ state === 'paused' ? 'Resume' : 'Start' }}
        </button>
        <button v-else type="button" class="k-button" @click="$emit('pause')">Pause</button>
        <select v-if="state === 'idle'" class="k-input" v-model.number="last" aria-label="Where to start">
          <option :value="0">from now</option>
          <option :value="20">last 20</option>
          <option :value="100">last 100</option>
        </select>
        <input class="k-input k-filter" type="search" v-model="needle" @input="changed" autocomplete="off"
          spellcheck="false" placeholder="Filter key or value" aria-label="Filter records by text" />
        <button v-if="rows.length" type="button" class="k-button" @click="$emit('clear')">Clear</button>
        <span class="k-count" v-if="counts">
          <span v-if="source === 'topic'" data-count="seen">{{ count(counts.seen) }} read</span>
          <span v-else title="The fan-out reads the topic, and sends what matches">from the fan-out</span>
          <span v-if="marked || filtered" data-count="matched"> · {{ count(counts.matched) }} match</span>
          <span v-if="counts.skipped" data-count="skipped" class="k-warn"
            title="They came faster than they could be shown"> · {{ count(counts.skipped) }} skipped</span>
        </span>
      </div>
      <div class="k-where">
        <input class="k-input k-mono" type="text" v-model="where" @input="chosen" @keydown.enter="run" autocomplete="off"
          autocapitalize="off" spellcheck="false" aria-label="Filter records by a condition" :aria-invalid="!!wrong"
          placeholder='Only where … value.price > 100 and value.ticker in ("AMZN", "GOOG")' />
        <pre v-if="wrong" class="k-wrong" role="alert">{{ wrong }}</pre>
      </div>
      <p v-if="problem" class="k-problem" role="alert">{{ problem }}</p>
      <p v-if="note" class="k-problem k-note" role="status">{{ note }}</p>
      <div v-if="rows.length" class="k-scroll k-records">
        <table aria-label="Records, the newest first">
          <thead><tr>
            <th>Time</th><th class="k-right k-minor">Partition</th><th class="k-right">Offset</th><th>Key</th><th>Value</th>
          </tr></thead>
          <tbody>
            <tr v-for="row in rows" :key="row.number" class="k-open" tabindex="0" :data-record="row.partition + ':' + row.offset"
              @click="$emit('open', row.number)" @keydown.enter="$emit('open', row.number)">
              <td class="k-time">{{ row.time }}</td>
              <td class="k-right k-minor">{{ row.partition }}</td>
              <td class="k-right">{{ row.offset }}</td>
              <td class="k-mono k-key" data-cell="key" :title="row.key_note"><span v-for="part in parts(row.key)" :class="{ 'k-hit': part.hit, 'k-none': row.key_null }">{{ part.text }}</span></td>
              <td class="k-mono k-value" data-cell="value" :title="row.value_note"><span v-for="part in parts(row.value)" :class="{ 'k-hit': part.hit, 'k-none': row.value_null }">{{ part.text }}</span></td>
            </tr>
          </tbody>
        </table>
      </div>
      <p v-else class="k-empty">{{ quiet }}</p>
    </section>
  `,
  props: { state: String, problem: String, source: String, wrong: String, note: String },
  emits: ["start", "pause", "clear", "filter", "where", "open"],
  data() {
    return { rows: [], counts: null, needle: "", marked: "", where: "", filtered: false, last: 20, updates: 0 };
  },
  computed: {
    quiet() {
      if (this.state === "idle") return "Nothing is read from this topic until you start the tail.";
      if (this.state === "paused") return "Paused: nothing is read.";
      return this.marked || this.filtered ? "No record matches yet." : "Waiting for the next record.";
    },
  },
  methods: {
    start() {
      this.$emit("start", { last: this.state === "paused" ? 0 : this.last });
    },
    update({ rows, replace, kept, counts, needle, filtered }) {
      const old = replace ? [] : this.rows;
      this.rows = [...rows, ...old].slice(0, kept);
      this.counts = counts.seen ? counts : null;
      this.marked = needle;
      this.filtered = filtered;
      this.updates += 1;
    },
    changed() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.$emit("filter", this.needle), 150);
    },
    chosen() {
      clearTimeout(this.whereTimer);
      this.whereTimer = setTimeout(() => this.$emit("where", this.where), 250);
    },
    run() {
      clearTimeout(this.whereTimer);
      this.$emit("where", this.where);
      // A wrong condition is refused there, and the start with it.
      if (this.state !== "live") this.start();
    },
    parts(text) {
      if (!this.marked) return [{ text, hit: false }];
      const [low, needle] = [text.toLowerCase(), this.marked.toLowerCase()];
      const found = [];
      let from = 0;
      for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
        if (at > from) found.push({ text: text.slice(from, at), hit: false });
        found.push({ text: text.slice(at, at + needle.length), hit: true });
        from = at + needle.length;
      }
      found.push({ text: text.slice(from), hit: false });
      return found;
    },
    count,
  },
};
