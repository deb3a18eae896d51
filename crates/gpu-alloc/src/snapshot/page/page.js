// The page: which device and which moment are shown, and in which colours.

// A canvas of a height, sharp on every screen: its context and its size.
function surface(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [context, width, height];
}

function stripes(context) {
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [6, 6];
  const pen = tile.getContext("2d");
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--alarm");
  pen.lineWidth = 1.5;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// Shows a text beside the pointer, with rows of [number, name, colour]; nothing without a pointer.
function tip(pointer, text = "", rows = []) {
  const box = byId("tip");
  box.hidden = pointer === null;
  if (pointer === null) return;
  const cells = ([number, name, color]) => element("tr", {}, [element("td", {}, [number]), element("td", {}, [swatch(color), name])]);
  box.replaceChildren(text, ...(rows.length > 0 ? [element("table", {}, rows.map(cells))] : []));
  const [x, y] = [pointer.clientX + 16, pointer.clientY + 16];
  box.style.left = `${Math.min(x, window.innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${y + box.offsetHeight > window.innerHeight ? Math.max(8, pointer.clientY - box.offsetHeight - 12) : y}px`;
}

const timeline = new Timeline(byId("timeline"), byId("legend"), byId("across"));
const segmentMap = new SegmentMap(byId("segments"), byId("segments-note"));
const chosen = {};
choose(DATA.devices.find((device) => device.segments.length + device.events.length > 0) ?? DATA.devices[0]);

// Shows a device, at its out-of-memory if there was one: that is what one wants to see.
function choose(device) {
  Object.assign(chosen, { device, refusal: device !== undefined && device.refusal.length > 0 });
}

function buttons(place, choices) {
  place.replaceChildren(...choices.map(([label, isChosen, choose]) => {
    const made = element("button", { type: "button", "aria-pressed": isChosen }, [label]);
    made.addEventListener("click", () => { choose(); show(); });
    return made;
  }));
}

function show() {
  const { device } = chosen;
  buttons(byId("devices"), DATA.devices.map((one) => [one.label, one === device, () => choose(one)]));
  if (device === undefined) {
    byId("about").textContent = "No device was used.";
    document.querySelectorAll("section").forEach((section) => { section.hidden = true; });
    return;
  }
  const grouping = GROUPINGS[document.querySelector(".by").value];
  const drawn = colorsOf(device, grouping);
  const about = device.policy === "" ? [] : [`policy ${device.policy}`];
  byId("about").textContent = [device.name, ...about].join(" · ");
  showFigures(device, byId("figures"));
  const [refusal] = device.refusal;
  byId("refusal").hidden = refusal === undefined;
  byId("report").textContent = refusal?.report ?? "";
  byId("history").hidden = device.events.length === 0;
  if (device.events.length > 0) {
    timeline.show(device, drawn);
    const missing = device.dropped > 0 ? ` ${device.dropped} earlier events were dropped.` : "";
    byId("history-note").replaceChildren(`${device.events.length} events in ${seconds(timeline.last - timeline.first)}, sizes as asked for; at the end `,
      figure("live", timeline.totals[timeline.totals.length - 1]), " are live. The dashed line is what was taken from the driver, ",
      figure("reserved", timeline.reservedAt[timeline.reservedAt.length - 1]), ` at the end.${missing}`);
  }
  const moments = refusal === undefined ? [] : [["at the end", !chosen.refusal, () => { chosen.refusal = false; }], ["at the out-of-memory", chosen.refusal, () => { chosen.refusal = true; }]];
  document.querySelectorAll(".when").forEach((place) => buttons(place, moments));
  const segments = chosen.refusal ? refusal.segments : device.segments;
  showHolders(segments, drawn.colorOf, grouping, document.querySelector("#holders tbody"));
  segmentMap.show(segments, grouping, drawn.colorOf);
  showSegments(segments, document.querySelector("#segment-table tbody"));
  showStatistics(device, byId("statistics"));
}

document.querySelector(".by").addEventListener("change", show);
byId("across").addEventListener("change", () => timeline.whole());
byId("whole").addEventListener("click", () => timeline.whole());
window.addEventListener("resize", show);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
