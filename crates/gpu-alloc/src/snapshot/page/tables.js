// The figures, the holders, the statistics.

const QUANTITIES = [
  ["allocated_bytes", "allocated"], ["requested_bytes", "requested"], ["active_bytes", "active"],
  ["reserved_bytes", "reserved"], ["inactive_split_bytes", "unreleasable"],
  ["allocation", "allocations"], ["active", "active blocks"], ["segment", "segments"], ["inactive_split", "unreleasable blocks"],
];
const POOLS = [["all", "all"], ["large_pool", "large requests"], ["small_pool", "small requests"]];
const PARTS = ["current", "peak", "allocated", "freed"];

function element(name, attributes, children) {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

function swatch(color) {
  const made = element("i", color === null ? { class: "waits" } : {}, []);
  if (color !== null) made.style.background = color;
  return made;
}

// A size that can be looked up by its name.
function figure(name, bytes, shown = size(bytes)) {
  return element("span", { "data-figure": name, "data-value": bytes, title: `${bytes} bytes` }, [shown]);
}

function showFigures(device, place) {
  const statistics = new Map(device.statistics);
  const blocks = device.segments.flatMap((segment) => segment.blocks);
  const inState = (...states) => sum(blocks, (block) => (states.includes(block[BLOCK.state]) ? block[BLOCK.bytes] : 0));
  const card = (label, name, value, below) => {
    const peak = statistics.get(`${name}.all.peak`);
    const notes = [...(peak === undefined ? [] : [`peak ${size(peak)}`]), ...below];
    return element("div", {}, [element("span", {}, [label]), element("b", {}, [figure(name, value)]), element("small", {}, [notes.join(" · ") || "\u00a0"])]);
  };
  const reserved = sum(device.segments, (segment) => segment.bytes);
  const share = (bytes) => (reserved === 0 ? [] : [`${(100 * bytes / reserved).toFixed(1)} % of reserved`]);
  const cards = [
    card("held by the program", "allocated_bytes", inState(HELD), []),
    card("held or still in use", "active_bytes", inState(HELD, WAITS), []),
    card("reserved from the driver", "reserved_bytes", reserved, []),
    card("free in segments", "free_bytes", inState(FREE), share(inState(FREE))),
  ];
  if (device.total > 0) {
    const limit = device.limit === null ? [] : [`limit ${size(device.limit)}`];
    cards.push(card("free on the device", "device_free", device.free, [`of ${size(device.total)}`, ...limit]));
  } else if (device.limit !== null) {
    cards.push(card("limit", "limit", device.limit, []));
  }
  if (statistics.has("num_ooms")) {
    cards.push(element("div", {}, [element("span", {}, ["times out of memory"]), element("b", {}, [figure("num_ooms", statistics.get("num_ooms"), `${statistics.get("num_ooms")}`)]),
      element("small", {}, [`${statistics.get("num_alloc_retries")} retries`])]));
  }
  place.replaceChildren(...cards);
}

function showHolders(segments, colorOf, grouping, body) {
  const holders = new Map();
  for (const segment of segments) {
    for (const block of segment.blocks) {
      if (block[BLOCK.state] !== HELD) continue;
      const [stack, tag, stream] = [block[BLOCK.stack], block[BLOCK.tag], segment.stream];
      const key = `${siteOf(stack)} ${tag} ${stream}`;
      const holder = holders.get(key) ?? { stack, tag, stream, bytes: 0, blocks: 0, age: null };
      holder.bytes += block[BLOCK.bytes];
      holder.blocks += 1;
      if (block[BLOCK.age] !== null) holder.age = Math.max(holder.age ?? 0, block[BLOCK.age]);
      holders.set(key, holder);
    }
  }
  const sorted = [...holders.values()].sort((one, other) => other.bytes - one.bytes);
  const most = sorted.length > 0 ? sorted[0].bytes : 1;
  const rows = sorted.slice(0, 40).map((holder) => {
    const bar = element("div", {}, []);
    bar.style.width = `${100 * holder.bytes / most}%`;
    bar.style.background = colorOf(grouping(holder.stack, holder.tag, holder.stream));
    const site = siteOf(holder.stack);
    const stack = holder.stack === null ? "" : DATA.stacks[holder.stack].join("\n");
    return element("tr", {}, [
      element("td", { class: "number" }, [figure("holder", holder.bytes)]), element("td", { class: "bar" }, [bar]),
      element("td", { class: "number" }, [`${holder.blocks}`]), element("td", { class: "site", title: stack }, [`\u200e${site}`]),
      element("td", {}, [holder.tag === null ? "" : tagOf(holder.tag)]), element("td", {}, [streamOf(holder.stream)]),
      element("td", {}, [holder.age === null ? "" : `${holder.age} allocations ago`]),
    ]);
  });
  const rest = sorted.slice(40);
  if (rest.length > 0) {
    rows.push(element("tr", {}, [element("td", { class: "number" }, [figure("holder", sum(rest, (holder) => holder.bytes))]), element("td", { colspan: 6 }, [`${rest.length} others`])]));
  }
  body.replaceChildren(...rows);
}

function showSegments(segments, body) {
  body.replaceChildren(...segments.map((segment) => {
    const cells = [`0x${segment.address.toString(16)}`, size(segment.bytes), size(heldIn(segment)),
      size(sum(segment.blocks, (block) => (block[BLOCK.state] === FREE ? block[BLOCK.bytes] : 0))), size(largestHole(segment)),
      `${segment.blocks.length}`, streamOf(segment.stream), kindOf(segment)];
    return element("tr", {}, cells.map((cell) => element("td", {}, [cell])));
  }));
}

function showStatistics(device, section) {
  const statistics = new Map(device.statistics);
  section.hidden = statistics.size === 0;
  const used = new Set();
  const quantities = QUANTITIES.filter(([name]) => statistics.has(`${name}.all.current`));
  const heads = quantities.length === 0 ? [] : PARTS.map((part) => element("th", { class: "number" }, [part]));
  section.querySelector("thead").replaceChildren(element("tr", {}, [element("th", {}, []), ...heads]));
  const rows = quantities.flatMap(([name, label]) => POOLS.map(([pool, of]) => {
    const cells = PARTS.map((part) => {
      const key = `${name}.${pool}.${part}`, value = statistics.get(key) ?? 0;
      used.add(key);
      const shown = name.endsWith("bytes") ? size(value) : `${value}`;
      return element("td", { class: "number", "data-statistic": key, "data-value": value, title: `${value}` }, [shown]);
    });
    return element("tr", {}, [element("td", {}, [pool === "all" ? element("b", {}, [label]) : `\u2003${of}`]), ...cells]);
  }));
  section.querySelector("tbody").replaceChildren(...rows);
  section.querySelector("dl").replaceChildren(...[...statistics].filter(([name]) => !used.has(name)).map(([name, value]) => (
    element("div", {}, [element("dt", {}, [name]), element("dd", { "data-statistic": name, "data-value": value }, [`${value}`])])
  )));
}
