// The pictures: a canvas for each run, all on one clock. What a pixel covers is found by bisection, so that drawing takes the same
// time however long the run is.
"use strict";
fencepost.view = { from: 0, to: 1, whole: 1, moment: null, redraw: function () {} };
fencepost.model.then(function (runs) {
  var make = fencepost.make, view = fencepost.view, from = fencepost.from;
  var ROW = 17, LABEL = 150, AXIS = 20, pictures = [];
  view.whole = Math.max.apply(null, runs.map(function (r) { return r.end_ps / r.tracks.quantum_ps; })) * 1.01 || 1;
  view.to = view.whole;

  var colours = {};
  function readColours() {
    var style = getComputedStyle(document.documentElement);
    ["ground", "ink", "quiet", "line", "raised", "bad", "good", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"].forEach(function (n) { colours[n] = style.getPropertyValue("--" + n).trim(); });
  }
  readColours();

  function picture(run) {
    var canvas = make("canvas", { role: "img", tabindex: "0", "aria-label": "Timeline of " + run.program + " on " + run.design + ": " + run.lanes.map(function (l) { return l.name; }).join(", ") });
    var hint = make("div", { class: "hint", hidden: "" });
    var box = make("div", { class: "picture" }, [make("h2", {}, run.design + " (" + run.contract + "): " + fencepost.time(run, run.finished_ps / run.tracks.quantum_ps)), canvas, hint]);
    if (run.warning) box.append(make("p", { class: "quiet" }, run.warning));
    document.getElementById("pictures").append(box);
    return { run: run, canvas: canvas, hint: hint, pen: canvas.getContext("2d"), label: LABEL };
  }

  function bars(p, lane, y, scale, width) {
    var i = from(lane.end, view.from), edge = -1;
    while (i < lane.start.length && lane.start[i] < view.to) {
      var a = Math.max(0, (lane.start[i] - view.from) * scale), b = Math.min(width, (lane.end[i] - view.from) * scale);
      var x = Math.max(edge, Math.floor(a)), w = Math.max(1, Math.ceil(b) - x);
      if (x >= edge) {
        p.pen.fillStyle = colours["c" + lane.colour[i]];
        p.pen.fillRect(p.label + x, y + 3, w, ROW - 5);
        edge = x + w;
      }
      // The next one that reaches beyond this pixel.
      var next = view.from + edge / scale;
      i = lane.end[i + 1] >= next ? i + 1 : Math.max(i + 1, from(lane.end, next));
    }
  }
  function area(p, lane, y, scale, width) {
    var i = Math.max(0, from(lane.time, view.from) - 1), h = ROW - 4;
    p.pen.fillStyle = colours.c6;
    while (i < lane.time.length && lane.time[i] < view.to) {
      var x = Math.max(0, Math.floor((lane.time[i] - view.from) * scale));
      var end = Math.max(i + 1, from(lane.time, view.from + (x + 1) / scale)), most = lane.count[end - 1], stop = Math.min(end, i + 64);
      for (var k = i; k < stop; k += 1) most = Math.max(most, lane.count[k]);
      var to = end < lane.time.length ? Math.floor((lane.time[end] - view.from) * scale) : width;
      var tall = h * most / (lane.most || 1), rest = h * lane.count[end - 1] / (lane.most || 1);
      // The pixel shows the most there was within it; what follows, up to the next change, the last there was.
      p.pen.fillRect(p.label + x, y + ROW - 2 - tall, 1, tall);
      if (to > x + 1) p.pen.fillRect(p.label + x + 1, y + ROW - 2 - rest, Math.min(width, to) - x - 1, rest);
      i = end;
    }
  }
  var SIGN = { store: ["ink", 5], flush: ["c4", 8], fence: ["bad", 11], commit: ["bad", 11], acknowledged: ["good", 11], "operation begins": ["quiet", 4], "operation ends": ["quiet", 4] };
  function ticks(p, lane, y, scale, width) {
    var t = lane.ticks.time, a = from(t, view.from), b = from(t, view.to);
    if (b - a > width / 3) return;
    for (var i = a; i < b; i += 1) {
      var sign = SIGN[lane.ticks.what[i]];
      p.pen.fillStyle = colours[sign[0]];
      p.pen.fillRect(p.label + Math.floor((t[i] - view.from) * scale), y + 3, 1.5, sign[1]);
    }
  }
  /** Arrows from a store to another thread's load of it. */
  function arrows(p, scale, width) {
    var r = p.run.reads, a = from(r.time, view.from), b = from(r.time, view.to);
    if (b - a > 60) return;
    p.pen.strokeStyle = colours.ink; p.pen.fillStyle = colours.ink; p.pen.lineWidth = 1;
    for (var i = a; i < b; i += 1) {
      var s = r.store[i], x1 = (p.run.stores.time[s] - view.from) * scale, x2 = (r.time[i] - view.from) * scale;
      if (x1 < 0) continue;
      var y1 = AXIS + ROW * (p.run.stores.thread[s] + 0.5), y2 = AXIS + ROW * (r.thread[i] + 0.5), up = y2 < y1 ? -1 : 1;
      p.pen.beginPath(); p.pen.moveTo(p.label + x1, y1); p.pen.lineTo(p.label + x2, y2); p.pen.stroke();
      p.pen.beginPath(); p.pen.moveTo(p.label + x2, y2); p.pen.lineTo(p.label + x2 - 3, y2 - 6 * up); p.pen.lineTo(p.label + x2 + 3, y2 - 6 * up); p.pen.fill();
    }
  }
  function axis(p, scale, width) {
    var steps = Math.max(2, Math.floor(width / 110)), raw = (view.to - view.from) / steps, base = Math.pow(10, Math.floor(Math.log10(raw)));
    var step = [1, 2, 5, 10].map(function (m) { return m * base; }).find(function (s) { return s >= raw; });
    p.pen.fillStyle = colours.quiet; p.pen.textAlign = "center";
    for (var t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      var x = p.label + (t - view.from) * scale;
      p.pen.fillRect(x, AXIS - 4, 1, 4);
      if (x < p.label + width - 30 && x > p.label + 15) p.pen.fillText(fencepost.time(p.run, t), x, 11);
    }
  }

  function draw(p) {
    var wide = p.canvas.clientWidth, tall = AXIS + ROW * p.run.lanes.length + 4, ratio = window.devicePixelRatio || 1;
    p.label = wide < 600 ? 96 : LABEL;
    var width = wide - p.label, scale = width / (view.to - view.from);
    if (p.canvas.width !== Math.floor(wide * ratio) || p.canvas.height !== Math.floor(tall * ratio)) {
      p.canvas.width = Math.floor(wide * ratio); p.canvas.height = Math.floor(tall * ratio);
      p.canvas.style.height = tall + "px";
    }
    p.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    p.pen.font = "11px system-ui, sans-serif";
    p.pen.fillStyle = colours.ground; p.pen.fillRect(0, 0, wide, tall);
    axis(p, scale, width);
    p.run.lanes.forEach(function (lane, i) {
      var y = AXIS + ROW * i;
      p.pen.fillStyle = colours.line; p.pen.fillRect(0, y + ROW - 0.5, wide, 0.5);
      p.pen.fillStyle = colours.ink; p.pen.textAlign = "left";
      p.pen.fillText(lane.name + (lane.kind === "area" && wide >= 600 ? " (" + lane.most + ")" : ""), 2, y + 12, p.label - 6);
      if (lane.busy) {
        var end = Math.min(view.to, lane.finished);
        p.pen.fillStyle = colours.c1;
        p.pen.fillRect(p.label + Math.max(0, -view.from * scale), y + 3, Math.max(0, (end - Math.max(0, view.from)) * scale), ROW - 5);
      }
      if (lane.kind === "bars") bars(p, lane, y, scale, width); else area(p, lane, y, scale, width);
      if (lane.ticks) ticks(p, lane, y, scale, width);
    });
    arrows(p, scale, width);
    if (view.moment !== null) {
      p.pen.fillStyle = colours.bad;
      p.pen.fillRect(p.label + (view.moment - view.from) * scale - 1, AXIS - 4, 2.5, tall);
    }
  }

  var asked = false;
  view.redraw = function () {
    if (asked) return;
    asked = true;
    requestAnimationFrame(function () {
      asked = false;
      pictures.forEach(draw);
      document.getElementById("shown").textContent = fencepost.time(runs[0], Math.max(0, view.from)) + " to " + fencepost.time(runs[0], view.to);
    });
  };
  /** Zooms about a place, which stays where it is. */
  view.zoom = function (factor, at) {
    var least = 20, span = Math.min(view.whole, Math.max(least, (view.to - view.from) * factor));
    var share = (at - view.from) / (view.to - view.from);
    view.from = at - share * span; view.to = view.from + span;
    view.move(0);
  };
  view.move = function (by) {
    var span = view.to - view.from;
    view.from = Math.min(Math.max(0, view.from + by), view.whole - span);
    view.to = view.from + span;
    view.redraw();
  };
  view.show = function (at) {
    if (at < view.from || at > view.to) view.move(at - (view.from + view.to) / 2);
    view.redraw();
  };

  function at(p, event) {
    var box = p.canvas.getBoundingClientRect();
    return view.from + (event.clientX - box.left - p.label) * (view.to - view.from) / (box.width - p.label);
  }
  function say(p, event) {
    var t = at(p, event), lane = p.run.lanes[Math.floor((event.clientY - p.canvas.getBoundingClientRect().top - AXIS) / ROW)];
    if (!lane || t < view.from) { p.hint.hidden = true; return; }
    var text = lane.name + ", " + fencepost.time(p.run, t), i;
    if (lane.kind === "area") {
      i = from(lane.time, t + 1e-9) - 1;
      text += "\n" + (i < 0 ? 0 : lane.count[i]) + " " + lane.unit;
    } else {
      i = from(lane.end, t);
      if (i < lane.start.length && lane.start[i] <= t) {
        text += "\n" + (lane.cause ? "waits: " + p.run.tracks.causes[lane.cause[i]] : p.run.tracks.writes.causes[p.run.writes.cause[lane.write[i]]]) + ", " + fencepost.time(p.run, lane.end[i] - lane.start[i]);
      } else if (lane.busy) text += "\nbusy";
      if (lane.ticks) {
        var near = from(lane.ticks.time, t - 4 * (view.to - view.from) / p.canvas.clientWidth), what = [];
        for (; near < lane.ticks.time.length && what.length < 3 && lane.ticks.time[near] < t + 4 * (view.to - view.from) / p.canvas.clientWidth; near += 1) {
          var s = lane.ticks.store[near];
          what.push(lane.ticks.what[near] + (s >= 0 ? " at " + p.run.tracks.sources[p.run.stores.source[s]] : ""));
        }
        if (what.length) text += "\n" + what.join("\n");
      }
    }
    p.hint.textContent = text; p.hint.hidden = false;
    p.hint.style.left = Math.min(event.offsetX + 12, p.canvas.clientWidth - 180) + "px";
    p.hint.style.top = event.offsetY + 44 + "px";
  }

  function listen(p) {
    var held = null;
    p.canvas.addEventListener("pointerdown", function (e) { held = e.clientX; p.canvas.setPointerCapture(e.pointerId); });
    p.canvas.addEventListener("pointerup", function () { held = null; });
    p.canvas.addEventListener("pointermove", function (e) {
      if (held === null) { say(p, e); return; }
      view.move((held - e.clientX) * (view.to - view.from) / (p.canvas.clientWidth - p.label));
      held = e.clientX;
    });
    p.canvas.addEventListener("pointerleave", function () { p.hint.hidden = true; });
    p.canvas.addEventListener("wheel", function (e) { e.preventDefault(); view.zoom(Math.exp(e.deltaY / 400), at(p, e)); }, { passive: false });
    p.canvas.addEventListener("keydown", function (e) {
      var middle = (view.from + view.to) / 2, span = view.to - view.from;
      var act = { "+": function () { view.zoom(0.5, middle); }, "-": function () { view.zoom(2, middle); }, ArrowLeft: function () { view.move(-span / 4); }, ArrowRight: function () { view.move(span / 4); } }[e.key];
      if (act) { e.preventDefault(); act(); }
    });
  }

  pictures = runs.map(picture);
  pictures.forEach(listen);
  var button = function (id, act) { document.getElementById(id).addEventListener("click", function () { act((view.from + view.to) / 2, view.to - view.from); }); };
  button("whole", function () { view.from = 0; view.to = view.whole; view.redraw(); });
  button("in", function (m) { view.zoom(0.5, view.moment !== null && view.moment >= view.from && view.moment <= view.to ? view.moment : m); });
  button("out", function (m) { view.zoom(2, m); });
  button("left", function (m, span) { view.move(-span / 4); });
  button("right", function (m, span) { view.move(span / 4); });
  var legend = fencepost.groups.map(function (g, i) { return [g[0] === "executing" ? "busy" : "waits for " + g[0], fencepost.groupColour[i]]; });
  document.getElementById("legend").append.apply(document.getElementById("legend"), legend.map(function (l) {
    return make("li", {}, [make("i", { style: "background:var(--c" + l[1] + ")" }), l[0]]);
  }));
  new ResizeObserver(view.redraw).observe(document.getElementById("pictures"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { readColours(); view.redraw(); });
  view.redraw();
});
