// The subscriber: a thousand cells, each with a subscription of its own, over four WebSockets.
// The fan-out is at port 8083 of this host, or where ?gateway=http://… says.

const NAMES = Array.from({ length: 1000 }, (_, number) => `K${String(number).padStart(3, "0")}`);
const CONNECTIONS = 4;
const gateway =
  new URLSearchParams(location.search).get("gateway") ?? `http://${location.hostname}:8083`;

const cells = new Map();
const changed = new Map(); // What came since the last frame was drawn: the newest of each name.
let latencies = [];
let missed = 0;

class Cell {
  constructor(name, hub) {
    this.name = name;
    this.hub = hub;
    this.price = null;
    this.button = document.createElement("button");
    this.button.className = "cell";
    this.button.append("–", document.createElement("small"));
    this.button.lastChild.textContent = name;
    this.button.onclick = () => (this.subscription ? this.leave() : this.subscribe());
    show("grid").append(this.button);
    this.subscribe();
  }

  subscribe() {
    this.subscription = this.hub.subscribe(
      { topic: "prices", key: this.name, from: this.position },
      (event) => {
        changed.set(this, event.json().price);
        latencies.push(Date.now() - event.timestamp);
      },
      { onGap: (gap) => (missed += gap.missed ?? 0) },
    );
    this.button.classList.remove("off");
  }

  leave() {
    this.position = this.subscription.position; // To go on from here later.
    this.subscription.close();
    this.subscription = null;
    this.button.classList.add("off");
  }

  draw(price) {
    this.button.firstChild.data = price.toFixed(2);
    this.button.classList.toggle("up", this.price !== null && price > this.price);
    this.button.classList.toggle("down", this.price !== null && price < this.price);
    this.price = price;
  }
}

function show(id, text) {
  const element = document.getElementById(id);
  if (text !== undefined) element.textContent = text;
  return element;
}

function draw() {
  for (const [cell, price] of changed) cell.draw(price);
  changed.clear();
  requestAnimationFrame(draw);
}

function count() {
  const sorted = latencies.sort((a, b) => a - b);
  latencies = [];
  const at = (share) => (sorted.length ? `${sorted[Math.floor(share * (sorted.length - 1))]} ms` : "–");
  show("subscriptions", [...cells.values()].filter((cell) => cell.subscription?.isReady).length);
  show("rate", sorted.length);
  show("median", at(0.5));
  show("worst", at(0.99));
  show("missed", missed);
}

function tellState(hubs) {
  const open = hubs.filter((hub) => hub.state === "open").length;
  const text =
    open === hubs.length
      ? `connected to ${gateway}`
      : `${open} of ${hubs.length} connections to ${gateway}: does it run, with --origin ${location.origin} ?`;
  show("state", text);
}

async function main() {
  let connect;
  try {
    ({ connect } = await import(`${gateway}/kafkaesque.js`));
  } catch {
    show("state", `no answer from ${gateway}: start it with kafkaesque fanout --origin ${location.origin}`);
    return;
  }
  const hubs = Array.from({ length: CONNECTIONS }, () => connect());
  for (const hub of hubs) hub.onState = () => tellState(hubs);
  NAMES.forEach((name, number) => cells.set(name, new Cell(name, hubs[number % CONNECTIONS])));
  setInterval(count, 1000);
  draw();
}

main();
