// Segments with their blocks and holes: each pixel stands for equally many bytes.

const ROW = 20, GAP = 6, ROWS = 18;

class SegmentMap {
  constructor(canvas, note) {
    Object.assign(this, { canvas, note, boxes: [], segments: [] });
    canvas.addEventListener("pointermove", (event) => this.explain(event));
    canvas.addEventListener("pointerleave", () => tip(null));
  }

  show(segments, grouping, colorOf) {
    Object.assign(this, { segments, grouping, colorOf });
    this.draw();
  }

  draw() {
    const width = this.canvas.clientWidth, bytes = sum(this.segments, (segment) => segment.bytes);
    const gaps = this.segments.length * 4;
    // No row wider than a segment of 2 MiB is worth, and no more rows than can be taken in.
    const perPixel = Math.max(1, bytes / Math.max(width, width * ROWS - gaps), (2 << 20) / width);
    this.boxes = [];
    let x = 0, row = 0;
    for (const segment of this.segments) {
      if (x > 0) x += 4;
      for (const block of segment.blocks) {
        let begin = 0;
        const whole = Math.max(block[BLOCK.bytes] / perPixel, block[BLOCK.state] === FREE ? 0 : 0.5);
        while (begin < whole) {
          if (x >= width - 1) [x, row] = [0, row + 1];
          const part = Math.min(whole - begin, width - x);
          this.boxes.push({ segment, block, x, row, width: part, begin: begin / whole, end: (begin + part) / whole });
          [begin, x] = [begin + part, x + part];
        }
      }
    }
    const [context] = surface(this.canvas, (row + 1) * (ROW + GAP));
    const css = getComputedStyle(document.documentElement);
    const [hole, lost, line] = ["--hole", "--lost", "--soft"].map((name) => css.getPropertyValue(name));
    for (const box of this.boxes) {
      const { block, segment, x, width: wide } = box, top = box.row * (ROW + GAP);
      const state = block[BLOCK.state];
      context.fillStyle = state === FREE ? hole : state === WAITS ? stripes(context)
        : this.colorOf(this.grouping(block[BLOCK.stack], block[BLOCK.tag], segment.stream));
      context.fillRect(x, top, wide, ROW);
      // What is lost to rounding is the end of the block.
      const used = block[BLOCK.requested] / block[BLOCK.bytes];
      if (state === HELD && box.end > used) {
        const from = Math.max(box.begin, used), scale = wide / (box.end - box.begin);
        context.fillStyle = lost;
        context.fillRect(x + (from - box.begin) * scale, top, (box.end - from) * scale, ROW);
      }
      if (wide > 3) {
        context.fillStyle = css.getPropertyValue("--card");
        context.fillRect(x + wide - 0.5, top, 0.5, ROW);
      }
      const isFirst = block === segment.blocks[0] && box.begin === 0;
      if (isFirst) {
        context.fillStyle = line;
        context.fillRect(x, top - 2, 1, ROW + 4);
      }
    }
    const held = sum(this.segments, (segment) => heldIn(segment));
    const free = sum(this.segments, (segment) => sum(segment.blocks, (block) => (block[BLOCK.state] === FREE ? block[BLOCK.bytes] : 0)));
    const largest = Math.max(0, ...this.segments.map(largestHole));
    this.note.replaceChildren(`${this.segments.length} ${this.segments.length === 1 ? "segment" : "segments"} by address, `, figure("segments-reserved", bytes), " in all: ",
      figure("segments-held", held), " held, ", figure("segments-free", free), " free, the largest hole ", figure("segments-hole", largest),
      `. A pixel's width is ${size(Math.round(perPixel))}.`);
  }

  explain(event) {
    const row = Math.floor(event.offsetY / (ROW + GAP));
    const box = this.boxes.find((box) => box.row === row && event.offsetX >= box.x && event.offsetX < box.x + Math.max(1, box.width));
    if (box === undefined) return tip(null);
    const { segment, block } = box;
    const state = ["free", "held", "freed, in use by other streams"][block[BLOCK.state]];
    const lines = [`${size(block[BLOCK.bytes])} ${state} at 0x${block[BLOCK.address].toString(16)}`];
    if (block[BLOCK.state] !== FREE) {
      lines[0] += `, ${size(block[BLOCK.requested])} asked for`;
      if (block[BLOCK.tag] !== null) lines.push(`tag: ${tagOf(block[BLOCK.tag])}`);
      if (block[BLOCK.age] !== null) lines.push(`${block[BLOCK.age]} allocations ago`);
      lines.push(...(block[BLOCK.stack] === null ? [] : DATA.stacks[block[BLOCK.stack]].slice(0, 12)));
    }
    lines.push(`in a segment of ${size(segment.bytes)}, ${kindOf(segment)}, ${streamOf(segment.stream)}: `
      + `${size(heldIn(segment))} held, the largest hole ${size(largestHole(segment))}`);
    tip(event, lines.join("\n"));
  }
}

const heldIn = (segment) => sum(segment.blocks, (block) => (block[BLOCK.state] === HELD ? block[BLOCK.bytes] : 0));

const largestHole = (segment) => Math.max(0, ...segment.blocks.map((block) => (block[BLOCK.state] === FREE ? block[BLOCK.bytes] : 0)));

function kindOf(segment) {
  const kinds = [segment.small ? "small requests" : "large requests"];
  if (segment.pages) kinds.push("expandable");
  if (segment.pool !== 0) kinds.push(`pool ${segment.pool}`);
  return kinds.join(", ");
}
