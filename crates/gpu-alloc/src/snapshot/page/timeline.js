// Live memory over time, as areas one above the other.

// How many events lie between two states that are kept.
const STEP = 256;

class Timeline {
  constructor(canvas, legend, across) {
    Object.assign(this, { canvas, legend, across, view: [0, 1], highlighted: null, at: null });
    // Nothing is shown yet, and nothing happened.
    const [none, nothing] = [() => new Float64Array(1), { events: [] }];
    Object.assign(this, { device: nothing, groups: [], changes: [], kept: [none()], totals: none(), reservedAt: none(), first: 0, last: 0 });
    canvas.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => { this.dragged = event.clientX; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { this.dragged = undefined; });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", () => { this.at = null; tip(null); this.draw(); });
    canvas.addEventListener("dblclick", () => this.whole());
  }

  show(device, { changes, groups }) {
    this.device = device;
    this.groups = groups;
    this.reservedAt = changes.reservedAt;
    const groupOf = new Map(groups.flatMap((group, index) => group.of.map((of) => [of, index])));
    const now = new Float64Array(groups.length);
    changes.before.forEach(([of, bytes]) => { now[groupOf.get(of)] += bytes; });
    this.changes = changes.changes.map((atEvent) => atEvent.map(([of, by]) => [groupOf.get(of), by]));
    this.kept = [now.slice()];
    this.totals = new Float64Array(this.changes.length + 1);
    this.totals[0] = now.reduce((total, bytes) => total + bytes, 0);
    this.changes.forEach((atEvent, index) => {
      let total = this.totals[index];
      for (const [of, by] of atEvent) {
        now[of] += by;
        total += by;
      }
      this.totals[index + 1] = total;
      if ((index + 1) % STEP === 0) this.kept.push(now.slice());
    });
    const events = device.events;
    this.first = events.length > 0 ? events[0][EVENT.time] : 0;
    this.last = events.length > 0 ? events[events.length - 1][EVENT.time] : 0;
    this.writeLegend();
    this.whole();
  }

  // The bytes of each group after so many events.
  stateAt(count) {
    const state = this.kept[Math.floor(count / STEP)].slice();
    for (let index = count - (count % STEP); index < count; index += 1) {
      for (const [of, by] of this.changes[index]) state[of] += by;
    }
    return state;
  }

  whole() {
    this.view = [0, 1];
    this.draw();
  }

  // How many events lie before a place between 0, the beginning, and 1, the end.
  countAt(place) {
    const events = this.device.events;
    if (this.across.value === "event") return Math.round(place * events.length);
    const time = this.first + place * (this.last - this.first);
    let [low, high] = [0, events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle][EVENT.time] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  placeOf(index) {
    const events = this.device.events;
    if (this.across.value === "event") return index / events.length;
    return (events[index][EVENT.time] - this.first) / Math.max(1, this.last - this.first);
  }

  draw() {
    const { canvas, view: [from, to] } = this;
    const [context, width, height] = surface(canvas, canvas.clientHeight);
    const css = getComputedStyle(document.documentElement);
    const [ink, line, alarm] = ["--soft", "--line", "--alarm"].map((name) => css.getPropertyValue(name));
    const [left, bottom] = [76, 22];
    Object.assign(this, { left, plotWidth: width - left });
    const columns = Math.max(1, Math.floor(width - left));
    const counts = Array.from({ length: columns + 1 }, (_none, column) => this.countAt(from + (to - from) * column / columns));
    let most = 0;
    // In each column, the event with the most memory: no peak is too short to be seen.
    const at = counts.slice(0, columns).map((count, column) => {
      let best = count;
      for (let other = count; other < counts[column + 1]; other += 1) {
        if (this.totals[other] > this.totals[best]) best = other;
      }
      most = Math.max(most, this.totals[best], this.reservedAt[best]);
      return best;
    });
    const y = (bytes) => (height - bottom) - bytes / Math.max(1, most) * (height - bottom - 12);
    context.font = "12px system-ui, sans-serif";
    for (const bytes of ticks(most)) {
      context.fillStyle = line;
      context.fillRect(left, Math.round(y(bytes)), columns, 1);
      context.fillStyle = ink;
      context.textAlign = "right";
      context.fillText(size(bytes), left - 6, y(bytes) + 4);
    }
    this.drawAreas(context, at, y, left);
    context.strokeStyle = ink;
    context.setLineDash([4, 3]);
    context.beginPath();
    at.forEach((count, column) => context.lineTo(left + column, y(this.reservedAt[count])));
    context.stroke();
    this.device.events.forEach((event, index) => {
      const place = (this.placeOf(index) - from) / (to - from);
      if (event[EVENT.action] !== "oom" || place < 0 || place > 1) return;
      const x = left + place * columns;
      context.strokeStyle = alarm;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - bottom);
      context.stroke();
      context.fillStyle = alarm;
      context.textAlign = place > 0.5 ? "right" : "left";
      context.fillText(`out of memory: ${size(event[EVENT.bytes])}`, x + (place > 0.5 ? -5 : 5), 12);
    });
    context.setLineDash([]);
    context.fillStyle = ink;
    for (let mark = 0; mark <= 4; mark += 1) {
      const place = from + (to - from) * mark / 4;
      const label = this.across.value === "event" ? `event ${this.countAt(place)}` : `+${seconds(Math.round(place * (this.last - this.first)))}`;
      context.textAlign = mark === 0 ? "left" : mark === 4 ? "right" : "center";
      context.fillText(label, left + columns * mark / 4, height - 6);
    }
    if (this.at !== null) {
      context.fillStyle = ink;
      context.fillRect(this.at, 0, 1, height - bottom);
    }
  }

  drawAreas(context, at, y, left) {
    const states = at.map((count) => this.stateAt(count));
    const below = new Float64Array(states.length);
    this.groups.forEach((group, of) => {
      context.fillStyle = group.color ?? stripes(context);
      context.globalAlpha = this.highlighted === null || this.highlighted === of ? 1 : 0.18;
      context.beginPath();
      const edge = (column) => context.lineTo(left + column, y(below[column]));
      for (let column = 0; column < states.length; column += 1) edge(column);
      context.lineTo(left + states.length, y(below[states.length - 1] ?? 0));
      states.forEach((state, column) => { below[column] += state[of]; });
      context.lineTo(left + states.length, y(below[states.length - 1] ?? 0));
      for (let column = states.length - 1; column >= 0; column -= 1) edge(column);
      context.fill();
    });
    context.globalAlpha = 1;
  }

  zoom(event) {
    event.preventDefault();
    const [from, to] = this.view;
    const pointed = from + (to - from) * Math.max(0, (event.offsetX - this.left) / this.plotWidth);
    const factor = Math.exp(event.deltaY * 0.0015);
    const length = Math.min(1, Math.max(8 / Math.max(8, this.device.events.length), (to - from) * factor));
    const begin = Math.min(1 - length, Math.max(0, pointed - (pointed - from) / (to - from) * length));
    this.view = [begin, begin + length];
    this.draw();
  }

  move(event) {
    const [from, to] = this.view;
    if (this.dragged !== undefined) {
      const by = (this.dragged - event.clientX) / this.plotWidth * (to - from);
      const begin = Math.min(1 - (to - from), Math.max(0, from + by));
      this.view = [begin, begin + to - from];
      this.dragged = event.clientX;
    }
    this.at = Math.max(this.left, event.offsetX);
    this.draw();
    const count = this.countAt(Math.min(1, from + (to - from) * (this.at - this.left) / this.plotWidth));
    this.explain(event, Math.min(count, this.changes.length));
  }

  explain(pointer, count) {
    const state = this.stateAt(count), events = this.device.events;
    const lines = [`after event ${count} of ${events.length}`];
    if (count > 0) {
      const event = events[count - 1];
      lines[0] += `, +${seconds(event[EVENT.time] - this.first)}`;
      const of = event[EVENT.stack] === null ? "" : ` · ${siteOf(event[EVENT.stack])}`;
      lines.push(`${event[EVENT.action]} ${size(event[EVENT.bytes])} · ${streamOf(event[EVENT.stream])}${of}`);
    }
    lines.push(`${size(this.totals[count])} live of ${size(this.reservedAt[count])} taken from the driver`);
    const rows = this.groups.map((group, of) => [state[of], group]).filter(([bytes]) => bytes > 0);
    rows.sort((one, other) => other[0] - one[0]);
    tip(pointer, lines.join("\n"), rows.slice(0, 8).map(([bytes, group]) => [size(bytes), shortSite(group.name), group.color]));
  }

  writeLegend() {
    this.legend.replaceChildren(...this.groups.map((group, of) => {
      const row = element("div", { title: group.name }, [swatch(group.color), element("span", {}, [`\u200e${shortSite(group.name)}`]), element("small", {}, [size(group.peak)])]);
      row.addEventListener("pointerenter", () => { this.highlighted = of; this.draw(); });
      row.addEventListener("pointerleave", () => { this.highlighted = null; this.draw(); });
      return row;
    }));
  }
}

// A few round sizes up to the most.
function ticks(most) {
  let step = 1;
  while (most / step > 6) step *= 2;
  return most === 0 ? [0] : Array.from({ length: Math.floor(most / step) + 1 }, (_none, index) => index * step);
}
