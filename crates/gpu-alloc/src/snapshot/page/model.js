// What a snapshot says, made ready to be drawn.

const DATA = JSON.parse(document.getElementById("data").textContent);

// The places in a block and in an event.
const BLOCK = { address: 0, bytes: 1, requested: 2, state: 3, stack: 4, tag: 5, age: 6, time: 7 };
const EVENT = { action: 0, address: 1, bytes: 2, stream: 3, time: 4, stack: 5, tag: 6, free: 7 };
const FREE = 0, HELD = 1, WAITS = 2;

const PALETTE = [
  "#4c78a8", "#f28e2b", "#54a24b", "#b279a2", "#e0b83c", "#4fb3ac",
  "#d4657a", "#8f7bd1", "#9c755f", "#6fa8dc", "#a3b545", "#d98cc0",
];
const OTHERS = "#8a93a3";

const byId = (id) => document.getElementById(id);
const sum = (items, value) => items.reduce((total, item) => total + value(item), 0);

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(2)} ${units[unit]}`;
}

function seconds(microseconds) {
  if (microseconds < 1e3) return `${microseconds} µs`;
  return microseconds < 1e6 ? `${(microseconds / 1e3).toFixed(1)} ms` : `${(microseconds / 1e6).toFixed(2)} s`;
}

// Without the folders, which the place's title shows.
const shortSite = (name) => name.replace(/^.*[/\\](?=[^/\\]+[/\\][^/\\]+$)/, "");
const siteOf = (stack) => (stack === null ? "unknown" : DATA.stacks[stack][0]);
const tagOf = (tag) => (tag === null ? "no tag" : DATA.tags[tag]);
const streamOf = (stream) => {
  if (stream === null) return "no stream";
  return stream === 0 ? "default stream" : `stream ${stream}`;
};

// By what memory is put into groups: the name of its group.
const GROUPINGS = {
  site: (stack, tag) => siteOf(stack) + (tag === null ? "" : ` [${DATA.tags[tag]}]`),
  tag: (_stack, tag) => tagOf(tag),
  stream: (_stack, _tag, stream) => streamOf(stream),
};

// The history of a device as changes: at each event, which group grows or shrinks by how much.
function changesOf(device, grouping) {
  const { events, segments } = device;
  const names = [], numbers = new Map();
  const group = (name) => {
    if (!numbers.has(name)) {
      numbers.set(name, names.length);
      names.push(name);
    }
    return numbers.get(name);
  };
  const waiting = group("freed, in use by other streams");
  const groupOf = (event) => group(grouping(event[EVENT.stack], event[EVENT.tag], event[EVENT.stream]));
  const before = [], live = new Map(), freed = new Map(), known = new Set();
  const changes = events.map(() => []);
  let reserved = 0;
  const reservedAt = new Float64Array(events.length + 1);
  events.forEach((event, index) => {
    const address = event[EVENT.address], bytes = event[EVENT.bytes];
    const change = (of, by) => changes[index].push([of, by]);
    switch (event[EVENT.action]) {
      case "alloc": {
        if (freed.has(address)) change(waiting, -freed.get(address));
        freed.delete(address);
        const of = groupOf(event);
        live.set(address, [of, bytes]);
        change(of, bytes);
        known.add(address);
        break;
      }
      case "free_requested": {
        let held = live.get(address);
        if (held === undefined) {
          held = [groupOf(event), bytes];
          before.push(held);
        }
        live.delete(address);
        known.add(address);
        change(held[0], -held[1]);
        // What was free at once waited for nobody.
        const next = events[index + 1];
        if (next?.[EVENT.action] === "free_completed" && next[EVENT.address] === address) break;
        freed.set(address, held[1]);
        change(waiting, held[1]);
        break;
      }
      case "free_completed":
        if (freed.has(address)) change(waiting, -freed.get(address));
        else if (!known.has(address)) {
          before.push([waiting, bytes]);
          change(waiting, -bytes);
        }
        known.add(address);
        freed.delete(address);
        break;
      case "segment_alloc": case "segment_map": reserved += bytes; break;
      case "segment_free": case "segment_unmap": reserved -= bytes; break;
    }
    reservedAt[index + 1] = reserved;
  });
  for (const segment of segments) {
    for (const block of segment.blocks) {
      if (block[BLOCK.state] === HELD && !known.has(block[BLOCK.address])) {
        before.push([group(grouping(block[BLOCK.stack], block[BLOCK.tag], segment.stream)), block[BLOCK.requested]]);
      }
    }
  }
  const reservedBefore = sum(segments, (segment) => segment.bytes) - reserved;
  reservedAt.forEach((bytes, index) => { reservedAt[index] = bytes + reservedBefore; });
  return { names, changes, before, reservedAt, waiting };
}

// The largest groups with a colour each, those that last the longest first, and the others as one.
function groupsOf({ names, changes, before, waiting }) {
  const now = names.map(() => 0), areas = names.map(() => 0);
  before.forEach(([of, bytes]) => { now[of] += bytes; });
  now.forEach((bytes, of) => { areas[of] = bytes * changes.length; });
  const peaks = [...now];
  changes.forEach((atEvent, index) => {
    for (const [of, by] of atEvent) {
      now[of] += by;
      areas[of] += by * (changes.length - index);
      peaks[of] = Math.max(peaks[of], now[of]);
    }
  });
  const order = names.map((_name, of) => of).filter((of) => of !== waiting && peaks[of] > 0);
  order.sort((one, other) => peaks[other] - peaks[one]);
  const shown = order.slice(0, PALETTE.length).map((of, index) => (
    { name: names[of], color: PALETTE[index], peak: peaks[of], of: [of] }
  ));
  shown.sort((one, other) => areas[other.of[0]] - areas[one.of[0]]);
  const rest = order.slice(PALETTE.length);
  if (rest.length > 0) {
    shown.push({ name: `${rest.length} others`, color: OTHERS, peak: Math.max(...rest.map((of) => peaks[of])), of: rest });
  }
  if (peaks[waiting] > 0) {
    shown.push({ name: names[waiting], color: null, peak: peaks[waiting], of: [waiting] });
  }
  return shown;
}

// The colour of each group's name, the same in all parts of the page.
function colorsOf(device, grouping) {
  const changes = changesOf(device, grouping);
  const held = new Map();
  const moments = [device.segments, ...device.refusal.map((moment) => moment.segments)];
  for (const segment of moments.flat()) {
    for (const block of segment.blocks) {
      if (block[BLOCK.state] === FREE) continue;
      const name = grouping(block[BLOCK.stack], block[BLOCK.tag], segment.stream);
      held.set(name, (held.get(name) ?? 0) + block[BLOCK.bytes]);
    }
  }
  const groups = groupsOf(changes);
  const colors = new Map(groups.map(({ name, color }) => [name, color]));
  [...held].sort((one, other) => other[1] - one[1]).forEach(([name]) => {
    if (!colors.has(name)) colors.set(name, colors.size < PALETTE.length ? PALETTE[colors.size] : OTHERS);
  });
  return { changes, groups, colorOf: (name) => colors.get(name) ?? OTHERS };
}
