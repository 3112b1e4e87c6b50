// Topics in a web page, through the fan-out (kafkaesque.v1, see docs/reference/fanout.md).
//
//     import { connect } from "http://127.0.0.1:8083/kafkaesque.js";
//     const hub = connect();
//     const ticks = hub.subscribe({ topic: "ticks", key: "AMZN", where: "value.price > 100" },
//                                 (event) => console.log(event.offset, event.json().price));
//     ticks.close();
//
// With `decode: "json"`, `event.json()` reads values that were written with a schema, too.
// One connection carries all subscriptions of a hub. One that is lost is made again, and each
// subscription goes on with the offset after the last record that came; what the server could not
// deliver it says, to onGap. An offset beyond 2^53 is a BigInt, all others are numbers.

const SUBPROTOCOL = "kafkaesque.v1";
const EVENT = 1;
const REFUSED = 1008; // Trying again would not help.
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
const ASK_MS = 25_000;
const ANSWER_MS = 10_000;
const MOST_ASKED = 20;
const UTF8 = new TextDecoder();

/** `url` is the server of this module unless given; `token` a text, or a function that makes one. */
export function connect({ url = serverOfModule(), token = null } = {}) {
  return new Hub(String(url), token);
}

function serverOfModule() {
  const url = new URL("/v1", import.meta.url);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

/** One record. `key` and `value` are text, or null; the bytes are in `keyBytes` and `valueBytes`. */
class Event {
  constructor(topic, partition, offset, timestamp, keyBytes, valueBytes, headerList) {
    Object.assign(this, { topic, partition, offset, timestamp, keyBytes, valueBytes, headerList });
  }

  get key() {
    return text(this.keyBytes);
  }

  get value() {
    return text(this.valueBytes);
  }

  /** Pairs of name and text, in their order. */
  get headers() {
    return this.headerList.map(([name, bytes]) => [name, text(bytes)]);
  }

  json() {
    return JSON.parse(this.value);
  }
}

class Subscription {
  constructor(hub, id, wants, onEvent, { onGap, onError, onReady, onCaughtUp } = {}) {
    Object.assign(this, { id, onEvent, onGap, onError, onReady, onCaughtUp });
    this.topic = wants.topic;
    /** The next offset of each partition: give it as `from` to go on another day. */
    this.position = {};
    this.hub = hub;
    this.wants = wants;
    this.isReady = false;
  }

  close() {
    this.hub.unsubscribe(this);
  }

  request() {
    const { key, keys, prefix, headers, from, ...rest } = this.wants;
    const request = { type: "subscribe", id: this.id, ...rest };
    if (key !== undefined) request.key = wireKey(key);
    if (keys !== undefined) request.keys = Array.from(keys, wireKey);
    if (prefix !== undefined) request.prefix = wireKey(prefix);
    if (headers !== undefined) {
      request.headers = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, wireKey(value)]),
      );
    }
    const start = Object.keys(this.position).length > 0 ? this.position : from;
    return start === undefined ? JSON.stringify(request) : withStart(request, start);
  }

  advance(partition, offset) {
    const known = this.position[partition];
    if (known === undefined || known < offset) this.position[partition] = offset;
  }

  advanceAll(position) {
    for (const [partition, offset] of Object.entries(position)) this.advance(partition, offset);
  }
}

class Hub {
  constructor(url, token) {
    this.url = url;
    this.token = token;
    /** "connecting", "open", "waiting" to try again, or "closed" for good. */
    this.state = "connecting";
    this.onState = null;
    this.onError = null;
    this.subscriptions = new Map();
    this.lastId = 0;
    this.delayMs = FIRST_DELAY_MS;
    this.socket = null;
    this.timer = null;
    this.heardAt = 0;
    this.look = () => this.lookNow();
    globalThis.addEventListener?.("online", this.look);
    globalThis.document?.addEventListener("visibilitychange", this.look);
    this.asking = setInterval(() => this.ask(), ASK_MS);
    this.open();
  }

  /** Records that `wants` selects go to onEvent(event, subscription), from now on. */
  subscribe(wants, onEvent, listeners = {}) {
    this.lastId += 1;
    const subscription = new Subscription(this, this.lastId, wants, onEvent, listeners);
    const request = subscription.request();
    this.subscriptions.set(subscription.id, subscription);
    if (this.state === "open") this.socket.send(request);
    return subscription;
  }

  unsubscribe(subscription) {
    if (this.subscriptions.delete(subscription.id) && this.state === "open") {
      this.send({ type: "unsubscribe", id: subscription.id });
    }
  }

  /** Over and done: nothing is tried again. */
  close(reason = "closed by the page") {
    if (this.state === "closed") return;
    clearTimeout(this.timer);
    clearInterval(this.asking);
    globalThis.removeEventListener?.("online", this.look);
    globalThis.document?.removeEventListener("visibilitychange", this.look);
    this.leave();
    this.change("closed", reason);
  }

  open() {
    this.change("connecting", this.url);
    const socket = new WebSocket(this.url, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.opened(socket);
    socket.onmessage = ({ data }) => socket === this.socket && this.take(data);
    socket.onclose = ({ code, reason }) => socket === this.socket && this.lost(code, reason);
    this.socket = socket;
  }

  async opened(socket) {
    const token = await this.freshToken();
    if (socket !== this.socket) return;
    if (token) this.send({ type: "token", token });
    this.heardAt = Date.now();
    for (const subscription of this.subscriptions.values()) {
      subscription.isReady = false;
      socket.send(subscription.request());
    }
    this.change("open", this.url);
  }

  async freshToken() {
    try {
      return typeof this.token === "function" ? await this.token() : this.token;
    } catch (error) {
      this.lost(1006, `no token: ${error}`);
      return null;
    }
  }

  lost(code, reason) {
    this.leave();
    if (code === REFUSED) {
      this.close(reason || "refused");
      return;
    }
    const delayMs = this.delayMs * (0.5 + Math.random() / 2);
    this.delayMs = Math.min(this.delayMs * 2, MAX_DELAY_MS);
    this.timer = setTimeout(() => this.open(), delayMs);
    this.change("waiting", reason || "the connection is lost");
  }

  leave() {
    const socket = this.socket;
    this.socket = null;
    if (socket !== null) socket.close();
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  change(state, detail) {
    this.state = state;
    this.onState?.(state, detail);
  }

  /** The page is looked at again, or there is a network again: no need to wait any longer. */
  lookNow() {
    if (globalThis.document?.hidden) return;
    if (this.state === "waiting") {
      clearTimeout(this.timer);
      this.delayMs = FIRST_DELAY_MS;
      this.open();
    } else {
      this.ask();
    }
  }

  /** Is the server still there, and where would a new connection go on? A few at a time. */
  ask() {
    if (this.state !== "open") return;
    const askedAt = Date.now();
    this.send({ type: "ping" });
    for (const [id, subscription] of [...this.subscriptions].slice(0, MOST_ASKED)) {
      if (!subscription.isReady) continue;
      this.subscriptions.delete(id);
      this.subscriptions.set(id, subscription); // Behind those who were not asked after.
      this.send({ type: "position", id });
    }
    const socket = this.socket;
    setTimeout(() => {
      if (socket === this.socket && this.heardAt < askedAt) this.lost(1006, "no answer");
    }, ANSWER_MS);
  }

  take(data) {
    this.heardAt = Date.now();
    this.delayMs = FIRST_DELAY_MS;
    if (typeof data === "string") {
      this.hear(JSON.parse(data));
      return;
    }
    const [id, event] = decodeEvent(data);
    const subscription = this.subscriptions.get(id);
    if (subscription === undefined) return;
    subscription.advance(event.partition, after(event.offset));
    subscription.onEvent(event, subscription);
  }

  hear(message) {
    const subscription = this.subscriptions.get(message.id);
    if (message.type === "error") {
      this.complain(subscription, message);
      return;
    }
    if (subscription === undefined) return;
    switch (message.type) {
      case "subscribed":
        subscription.isReady = true;
        subscription.advanceAll(message.position);
        subscription.onReady?.(subscription);
        break;
      case "position":
        subscription.advanceAll(message.position);
        break;
      case "gap":
        passGap(subscription, message.ranges);
        subscription.onGap?.(message, subscription);
        break;
      case "caught-up":
        subscription.onCaughtUp?.(subscription);
        break;
    }
  }

  complain(subscription, message) {
    const listener = subscription?.onError ?? this.onError ?? console.error;
    this.subscriptions.delete(message.id); // It was refused, or its topic is gone.
    listener(message, subscription);
  }
}

/** Between two ranges of a partition lie records that come after the gap's message. */
function passGap(subscription, ranges) {
  const passed = new Set();
  for (const [partition, , last] of ranges) {
    if (!passed.has(partition)) subscription.advance(partition, last + 1);
    passed.add(partition);
  }
}

/** The subscription that a frame is for, and its record: the layout is in docs/reference/fanout.md. */
export function decodeEvent(buffer) {
  const view = new DataView(buffer);
  let at = 0;
  const u16 = () => view.getUint16((at += 2) - 2);
  const i32 = () => view.getInt32((at += 4) - 4);
  const i64 = () => plain(view.getBigInt64((at += 8) - 8));
  const bytes = (length) =>
    length < 0 ? null : new Uint8Array(buffer, (at += length) - length, length);
  const kind = view.getUint8(at++);
  if (kind !== EVENT) throw new RangeError(`a frame of kind ${kind}: load a newer kafkaesque.js`);
  const id = i32() >>> 0;
  const topic = text(bytes(u16()));
  const [partition, offset, timestamp] = [i32(), i64(), i64()];
  const [key, value] = [bytes(i32()), bytes(i32())];
  const headers = Array.from({ length: u16() }, () => [text(bytes(u16())), bytes(i32())]);
  return [id, new Event(topic, partition, offset, timestamp, key, value, headers)];
}

function plain(number) {
  const safe = Number(number);
  return Number.isSafeInteger(safe) ? safe : number;
}

function after(offset) {
  return plain(BigInt(offset) + 1n);
}

function text(bytes) {
  return bytes === null ? null : UTF8.decode(bytes);
}

function wireKey(key) {
  return typeof key === "string" ? key : { base64: btoa(String.fromCharCode(...key)) };
}

/** JSON.stringify knows no BigInt. */
function withStart(request, start) {
  if (typeof start !== "object") return JSON.stringify({ ...request, from: start });
  const offsets = Object.entries(start).map(([partition, offset]) => `"${partition}":${offset}`);
  return `${JSON.stringify(request).slice(0, -1)},"from":{${offsets.join()}}}`;
}
