// A chart of candles that moves: what the server sends is kept here, drawn as SVG, and listed as a table.
//
// offers: {ticker, windows, path}. `show` brings the candles of the chosen series: all of them, or
// those that have changed. A candle that rises is hollow and one that falls is full, so that it takes
// no colours to tell them apart. Events to the server: ready, choose {ticker, window}.

import { count } from "/console/numbers.js";
import { clock, clockOrDay, decimals, price, roundNumbers, roundTimes } from "/console/scales.js";

const KEPT = 240;
const FEWEST = 30;
const [RIGHT, BOTTOM, TOP] = [66, 24, 10];
const FIELDS = ["start", "end", "open", "high", "low", "close", "average", "volatility", "count"];

export default {
  template: `
    <section class="k-panel k-candles" :data-candles="candles.length" :data-ticker="shown.ticker"
      :data-window="shown.window" :data-updates="updates" aria-label="Candles">
      <div v-if="tickers.length" class="k-toolbar">
        <label class="k-choice">Ticker
          <select class="k-input" aria-label="Ticker" @change="choose($event.target.value, window)">
            <option v-for="each in tickers" :key="each" :value="each" :selected="each === ticker">{{ each }}</option>
          </select>
        </label>
        <label class="k-choice">Window
          <select class="k-input" aria-label="Window" @change="choose(ticker, $event.target.value)">
            <option v-for="each in windows" :key="each" :value="each" :selected="each === window">{{ each }}</option>
          </select>
        </label>
        <label class="k-choice">Show
          <select class="k-input" aria-label="How far back" v-model.number="span">
            <option :value="30">30 minutes</option><option :value="60">1 hour</option>
            <option :value="120">2 hours</option><option :value="240">4 hours</option>
          </select>
        </label>
        <span class="k-count" v-if="newest">
          {{ count(candles.length) }} {{ candles.length === 1 ? 'candle' : 'candles' }} ·
          <span :class="{ 'k-warn': silent }">{{ silent ? 'nothing new since' : 'newest from' }} {{ clock(silent ? newest.end : newest.start) }} UTC</span>
        </span>
      </div>
      <p v-if="problem" class="k-problem" role="alert">{{ problem }}</p>
      <p v-if="!newest" class="k-empty">{{ why }}</p>
      <template v-else>
        <div class="k-quote">
          <span class="k-ticker">{{ shown.ticker }}</span>
          <span class="k-close" data-figure="close">{{ write(newest.close) }}</span>
          <span class="k-change" :data-way="way({ open: before, close: newest.close })" title="Against the close before it">{{ change }}</span>
          <span class="k-legend" aria-hidden="true">
            <span><i data-mark="up"></i>rises</span><span><i data-mark="down"></i>falls</span>
            <span><i data-mark="average"></i>average</span><span><i data-mark="count"></i>ticks</span>
          </span>
        </div>
        <div class="k-chart" ref="chart">
          <svg :viewBox="'0 0 ' + width + ' ' + height" :width="width" :height="height" role="img" tabindex="0"
            :aria-label="summary" @pointermove="point" @pointerdown="point" @pointerleave="at = null"
            @keydown.left.prevent="step(-1)" @keydown.right.prevent="step(1)" @keydown.esc="at = null" @blur="at = null">
            <g class="k-grid">
              <g v-for="tick in priceTicks" :key="'p' + tick.text">
                <line :x1="0" :x2="plotWidth" :y1="tick.y" :y2="tick.y" /><text v-if="!tick.hidden" :x="plotWidth + 8" :y="tick.y + 4">{{ tick.text }}</text>
              </g>
              <g v-for="tick in timeTicks" :key="'t' + tick.at">
                <line :x1="tick.x" :x2="tick.x" :y1="0" :y2="floor" /><text class="k-when" :x="tick.x" :y="height - 7">{{ tick.text }}</text>
              </g>
            </g>
            <rect v-for="each in drawn" :key="'n' + each.start" class="k-ticks" :x="each.x - body / 2" :width="body" :y="floor - each.tall" :height="each.tall" />
            <g v-for="each in drawn" :key="each.start" class="k-candle" :data-way="each.way" :data-newest="each.start === newest.start || null">
              <path :d="each.wick" /><rect :x="each.x - body / 2" :width="body" :y="each.y" :height="each.h" />
            </g>
            <path class="k-average" :d="averageLine" />
            <g class="k-last" :data-way="way(newest)">
              <line :x1="0" :x2="plotWidth" :y1="y(newest.close)" :y2="y(newest.close)" />
              <rect :x="plotWidth + 2" :y="y(newest.close) - 10" :width="right - 4" height="20" rx="4" />
              <text :x="plotWidth + 8" :y="y(newest.close) + 4">{{ write(newest.close) }}</text>
            </g>
            <g v-if="marked" class="k-cross">
              <line :x1="marked.x" :x2="marked.x" :y1="0" :y2="floor" />
              <template v-if="pointerY !== null">
                <line :x1="0" :x2="plotWidth" :y1="pointerY" :y2="pointerY" />
                <rect :x="plotWidth + 2" :y="pointerY - 10" :width="right - 4" height="20" rx="4" />
                <text :x="plotWidth + 8" :y="pointerY + 4">{{ write(value(pointerY)) }}</text>
              </template>
            </g>
          </svg>
          <dl v-if="marked" class="k-tip" role="status" :style="tipPlace">
            <div class="k-tip-time">{{ clock(marked.start) }}–{{ clock(marked.end) }} UTC</div>
            <div v-for="[name, words] in values(marked)" :key="name"><dt>{{ name }}</dt><dd :data-tip="name">{{ words }}</dd></div>
          </dl>
        </div>
        <details class="k-same" @toggle="listed = $event.target.open">
          <summary>The same as a table</summary>
          <div v-if="listed" class="k-scroll k-records" tabindex="0">
            <table aria-label="Candles, the newest first">
              <thead><tr><th>From (UTC)</th><th v-for="name in names" :key="name" class="k-right">{{ name }}</th></tr></thead>
              <tbody>
                <tr v-for="each in [...candles].reverse()" :key="each.start" :data-row="clock(each.start)">
                  <td class="k-time">{{ new Date(each.start).toISOString().slice(0, 16).replace('T', ' ') }}</td>
                  <td v-for="[name, words] in values(each)" :key="name" class="k-right" :data-cell="name.toLowerCase()">{{ words }}</td>
                </tr>
              </tbody>
            </table>
          </div>
        </details>
      </template>
    </section>
  `,
  props: { offers: Array, ticker: String, window: String, quiet: String, problem: String },
  emits: ["ready", "choose"],
  data() {
    return {
      candles: [], shown: { ticker: "", window: "" }, updates: 0, at: null, pointerY: null,
      span: matchMedia("(max-width: 600px)").matches ? 30 : 60, width: 900, listed: false, now: Date.now(), right: RIGHT,
      names: ["Open", "High", "Low", "Close", "Average", "Volatility", "Ticks"],
    };
  },
  computed: {
    tickers() {
      const known = this.offers.map((offer) => offer.ticker);
      return this.ticker && !known.includes(this.ticker) ? [this.ticker, ...known] : known;
    },
    windows() {
      const known = this.offers.find((offer) => offer.ticker === this.ticker)?.windows ?? [];
      return known.includes(this.window) || !this.ticker ? known : [...known, this.window];
    },
    why() {
      return this.offers.length ? `There are no candles of ${this.ticker} (${this.window}) now.` : this.quiet;
    },
    newest() { return this.candles.at(-1); },
    before() { return this.candles.at(-2)?.close ?? this.newest.open; },
    change() {
      const by = this.newest.close - this.before;
      const share = this.before ? ` (${by < 0 ? "−" : "+"}${Math.abs((by / this.before) * 100).toFixed(2)} %)` : "";
      return `${{ up: "▲ +", down: "▼ −", flat: "= " }[this.way({ open: 0, close: by })]}${price(Math.abs(by), this.places)}${share}`;
    },
    silent() { return this.now - this.newest.end > 180000; },
    height() { return this.width < 600 ? 300 : 420; },
    plotWidth() { return this.width - RIGHT; },
    floor() { return this.height - BOTTOM; },
    stepMs() {
      const gaps = this.candles.slice(1).map((each, index) => each.start - this.candles[index].start);
      return Math.min(60000, this.newest.end - this.newest.start, ...gaps);
    },
    slots() {
      const there = (this.newest.start - this.candles[0].start) / this.stepMs + 1;
      return Math.max(FEWEST, Math.min(there, Math.ceil((this.span * 60000) / this.stepMs)));
    },
    from() { return this.newest.start + this.stepMs - this.slots * this.stepMs; },
    visible() { return this.candles.filter((each) => each.start >= this.from); },
    slot() { return (this.plotWidth - 6) / this.slots; },
    body() { return Math.max(1, Math.min(22, this.slot * 0.68)); },
    range() {
      const low = Math.min(...this.visible.map((each) => each.low));
      const high = Math.max(...this.visible.map((each) => each.high));
      const margin = (high - low) * 0.06 || Math.abs(high) * 0.002 || 1;
      return { low: low - margin, high: high + margin };
    },
    rounds() { return roundNumbers(this.range.low, this.range.high, this.height / 64); },
    places() { return this.newest ? decimals(Math.max(this.rounds.step / 10, 0.01)) : 2; },
    priceTicks() {
      const places = decimals(this.rounds.step);
      const last = this.y(this.newest.close);
      return this.rounds.numbers
        .map((each) => ({ y: this.y(each), text: price(each, places) }))
        .map((tick) => ({ ...tick, hidden: Math.abs(tick.y - last) < 15 }));
    },
    timeTicks() {
      const to = this.newest.start;
      return roundTimes(this.from, to, this.plotWidth / 62)
        .map((at) => ({ at, x: this.x(at), text: clockOrDay(at) }))
        .filter((tick) => tick.x > 18 && tick.x < this.plotWidth - 16);
    },
    drawn() {
      const most = Math.max(1, ...this.visible.map((each) => each.count));
      const [room, tallest] = [this.floor, this.floor * 0.16];
      return this.visible.map((each) => {
        const [x, top, bottom] = [this.x(each.start), this.y(Math.max(each.open, each.close)), this.y(Math.min(each.open, each.close))];
        const h = Math.max(1, bottom - top);
        const wick = `M${x} ${this.y(each.high)}V${top}M${x} ${top + h}V${Math.max(top + h, this.y(each.low))}`;
        return { ...each, x, y: top, h, wick, way: this.way(each), tall: Math.min(room, (each.count / most) * tallest) };
      });
    },
    averageLine() {
      let last = null;
      return this.visible.filter((each) => each.average !== null).map((each) => {
        const joins = last !== null && each.start - last === this.stepMs;
        last = each.start;
        return `${joins ? "L" : "M"}${this.x(each.start).toFixed(1)} ${this.y(each.average).toFixed(1)}`;
      }).join("");
    },
    marked() { return this.at === null ? null : this.drawn.find((each) => each.start === this.at) ?? null; },
    tipPlace() {
      // In the other half, so that it hides nothing that the pointer is near.
      return this.marked.x > this.plotWidth / 2 ? { left: "10px" } : { right: `${RIGHT + 10}px` };
    },
    summary() {
      return `${this.shown.ticker}: ${this.visible.length} candles of ${this.shown.window}, the newest closes at ${this.write(this.newest.close)}. Left and right go through them; the table below has all numbers.`;
    },
  },
  mounted() {
    this.timer = setInterval(() => (this.now = Date.now()), 5000);
    this.sizes = new ResizeObserver(([entry]) => (this.width = Math.max(280, Math.floor(entry.contentRect.width))));
    this.$emit("ready");
  },
  unmounted() {
    clearInterval(this.timer);
    this.sizes.disconnect();
  },
  watch: {
    newest(now, before) {
      if (!now === !before) return;
      this.sizes.disconnect();
      if (now) this.$nextTick(() => this.$refs.chart && this.sizes.observe(this.$refs.chart));
    },
  },
  methods: {
    show({ ticker, window, replace, candles }) {
      const kept = new Map(replace ? [] : this.candles.map((each) => [each.start, each]));
      for (const values of candles) {
        const candle = Object.fromEntries(FIELDS.map((name, index) => [name, values[index]]));
        kept.set(candle.start, candle);
      }
      this.candles = [...kept.values()].sort((a, b) => a.start - b.start).slice(-KEPT);
      this.shown = { ticker, window };
      this.updates += 1;
      this.now = Date.now();
    },
    choose(ticker, window) {
      const offer = this.offers.find((each) => each.ticker === ticker);
      // The address is that of what is seen, so that it can be kept or sent.
      if (offer) history.replaceState({ page: `${offer.path}/${window}` }, "", `${offer.path}/${window}`);
      this.at = null;
      this.$emit("choose", { ticker, window });
    },
    x(start) { return ((start - this.from) / this.stepMs + 0.5) * this.slot; },
    y(value) { return TOP + ((this.range.high - value) / (this.range.high - this.range.low)) * (this.floor * 0.84 - TOP); },
    value(y) { return this.range.high - ((y - TOP) / (this.floor * 0.84 - TOP)) * (this.range.high - this.range.low); },
    way({ open, close }) { return close > open ? "up" : close < open ? "down" : "flat"; },
    write(value) { return price(value, this.places); },
    values(each) {
      const maybe = (value, places) => (value === null ? "–" : price(value, places));
      return [
        ["Open", this.write(each.open)], ["High", this.write(each.high)], ["Low", this.write(each.low)],
        ["Close", this.write(each.close)], ["Average", maybe(each.average, this.places + 1)],
        ["Volatility", maybe(each.volatility, this.places + 2)], ["Ticks", count(each.count)],
      ];
    },
    point(event) {
      const box = event.currentTarget.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const near = this.drawn.reduce((best, each) => (Math.abs(each.x - x) < Math.abs(best.x - x) ? each : best));
      this.at = near.start;
      this.pointerY = y < this.floor * 0.84 ? y : null;
    },
    step(by) {
      const index = this.drawn.findIndex((each) => each.start === this.at);
      const next = index < 0 ? this.drawn.length - 1 : Math.max(0, Math.min(this.drawn.length - 1, index + by));
      this.at = this.drawn[next].start;
      this.pointerY = null;
    },
    count,
    clock,
  },
};
