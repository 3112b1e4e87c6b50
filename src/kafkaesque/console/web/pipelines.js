// Pipelines, each with its state, its queries as a table, and the button that stops or starts it.
//
// pipelines: {name, run, state, verb, pending, started, age, silent, master, restarts, error, queries}.
// A query has its figures, and `rates` and `latencies` of the last minutes at `times`; null is a dash.
// Event to the server: tell {verb, name, run}.

import { bytes, count, duration, latency, rate } from "/console/numbers.js";

const BACK_MS = 5 * 60000;
const [WIDTH, HEIGHT] = [72, 16];
const HEADS = [
  ["Query", "From what, into what"],
  ["Rows in", "Rows that come, a second; below, those of the last five minutes"],
  ["Processed", "Rows that it does in a second of work; below, all rows since this run began"],
  ["Batch took", "The last batch with rows; below, those of the last five minutes"],
  ["Watermark", "UTC. No window that ends before it changes any more; below, how far it is behind now"],
  ["State", "Rows that it has to remember, and their size"],
  ["Late", "Rows behind the watermark, which windows leave out; since this run began"],
  ["Lag", "Records of its topics that it has not read yet"],
];

export default {
  template: `
    <div class="k-pipelines" :data-pipelines="pipelines.length">
      <section v-if="!pipelines.length" class="k-panel"><p class="k-empty">{{ empty }}</p></section>
      <section v-for="each in pipelines" :key="each.name" class="k-panel k-pipeline" :data-pipeline="each.name" :data-state="each.state" :aria-label="'Pipeline ' + each.name">
        <div class="k-pipeline-head">
          <h2>{{ each.name }}</h2>
          <span class="k-state" :data-state="each.state" data-cell="state">{{ each.state }}</span>
          <span class="k-meta">
            <span data-cell="since" :title="moment(each.started) + ' UTC'">{{ since(each) }}</span>
            <span v-if="each.restarts" class="k-warn" data-cell="restarts"> · {{ count(each.restarts) }} {{ each.restarts === 1 ? 'restart' : 'restarts' }}</span>
            <span v-if="each.master" class="k-minor"> · {{ each.master }}</span>
            <span class="k-minor"> · run <span class="k-mono">{{ each.run.slice(0, 8) }}</span></span>
          </span>
          <span class="k-actions" v-if="each.verb">
            <span v-if="each.pending" class="k-meta" role="status">{{ each.pending === 'stop' ? 'Stopping …' : 'Starting …' }}</span>
            <button v-if="each.verb === 'start'" type="button" class="k-button k-primary" :disabled="!!each.pending" :aria-label="'Start ' + each.name" @click="tell(each)">Start</button>
            <button v-else type="button" class="k-button" :disabled="!!each.pending" :aria-label="'Stop ' + each.name" @click="tell(each)">Stop</button>
          </span>
        </div>
        <p v-if="each.error" class="k-problem" role="alert" data-cell="error">{{ each.error }}</p>
        <div v-if="each.queries.length" class="k-scroll" :class="{ 'k-stale': each.state !== 'running' }" tabindex="0">
          <table :aria-label="'Queries of ' + each.name">
            <thead><tr>
              <th v-for="([label, hint], index) in heads" :key="index" :title="hint" :class="{ 'k-right': index }">{{ label }}</th>
            </tr></thead>
            <tbody>
              <tr v-for="query in each.queries" :key="query.name" :data-row="query.name">
                <td><b>{{ query.name }}</b><div class="k-route" :title="route(query)" data-cell="route">{{ route(query) }}</div></td>
                <td class="k-right"><span data-cell="rate_in">{{ write(query.rate_in, rate) }}</span><svg class="k-spark" :viewBox="box" aria-hidden="true"><path class="k-spark-line" :d="line(query.rates, query.times)" /></svg></td>
                <td class="k-right"><span data-cell="rate_processed">{{ write(query.rate_processed, rate) }}</span><div class="k-under" data-cell="rows">{{ count(query.rows) }} rows</div></td>
                <td class="k-right" :title="query.batch === null ? null : 'Batch ' + count(query.batch)"><span data-cell="latency">{{ write(query.latency, latency) }}</span><svg class="k-spark" :viewBox="box" aria-hidden="true"><path class="k-spark-line" :d="line(query.latencies, query.times)" /></svg></td>
                <td class="k-right"><span data-cell="watermark">{{ write(query.watermark, clock) }}</span><div v-if="query.watermark !== null" class="k-under" data-cell="watermark_behind">{{ behind(query.watermark_behind) }}</div></td>
                <td class="k-right"><span data-cell="state_rows">{{ count(query.state_rows) }} rows</span><div class="k-under" data-cell="state_bytes">{{ bytes(query.state_bytes) }}</div></td>
                <td class="k-right" :class="{ 'k-warn': query.late }" data-cell="late">{{ count(query.late) }}</td>
                <td class="k-right" data-cell="behind">{{ write(query.behind, count) }}</td>
              </tr>
            </tbody>
          </table>
        </div>
        <p v-else class="k-empty">It has said nothing of its queries yet.</p>
      </section>
    </div>
  `,
  props: { pipelines: Array, empty: String },
  emits: ["tell"],
  data() {
    return { heads: HEADS, box: `0 0 ${WIDTH} ${HEIGHT}` };
  },
  methods: {
    tell({ verb, name, run }) {
      this.$emit("tell", { verb, name, run });
    },
    since({ state, age, silent }) {
      if (silent === null) return `began ${duration(age)} ago`;
      return state === "lost" ? `silent for ${duration(silent)}` : `ended ${duration(silent)} ago, after ${duration(age)}`;
    },
    route({ source, sink }) {
      return [source, sink].filter(Boolean).join(" → ");
    },
    write(value, writer) {
      return value === null ? "–" : writer(value);
    },
    behind(ms) {
      return ms < 0 ? `${duration(-ms)} ahead` : `${duration(ms)} behind`;
    },
    moment(ms) {
      return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
    },
    clock(ms) {
      return new Date(ms).toISOString().slice(11, 19);
    },
    line(values, times) {
      // The newest is at the right edge; minutes that nobody has told of are empty at the left.
      if (values.length < 2) return "";
      const [top, last] = [Math.max(...values, 1e-9), times.at(-1)];
      const x = (index) => WIDTH - ((last - times[index]) / BACK_MS) * WIDTH;
      const y = (value) => HEIGHT - 1 - (value / top) * (HEIGHT - 3);
      return "M" + values.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join(" L");
    },
    bytes, count, latency, rate,
  },
};
