// The paper's figures: a plot for each medium, all with one scale; bars are ours, diamonds the paper's.
"use strict";
fencepost.colours = [1, 2, 3, 4, 5, 6, 7, 8].map(function (n) { return "var(--c" + n + ")"; });

/** What the reader wants to see: programs and media that are not crossed out. */
fencepost.filter = (function () {
  var hidden = { program: new Set(), media: new Set() }, told = [];
  return {
    shows: function (kind, name) { return !hidden[kind].has(name); },
    toggle: function (kind, name) {
      if (!hidden[kind].delete(name)) hidden[kind].add(name);
      told.forEach(function (f) { f(); });
    },
    changed: function (f) { told.push(f); },
  };
})();

(function () {
  var make = fencepost.make, short = fencepost.short, data = fencepost.data;

  function kept(figure) {
    return figure.cells.filter(function (c) {
      return (c.over_all || fencepost.filter.shows("program", c.program)) && fencepost.filter.shows("media", c.media);
    });
  }

  /** The ends of the common scale. */
  function domain(figure, log) {
    var all = [figure.neutral, figure.origin];
    figure.cells.forEach(function (c) {
      [c.value, c.stated, c.best].concat(c.range || []).forEach(function (v) {
        if (v !== null && v !== undefined && (!log || v > 0)) all.push(v);
      });
    });
    var low = Math.min.apply(null, all), high = Math.max.apply(null, all);
    return log ? [low / 1.05, high * 1.15] : [low - (low < 0 ? (high - low) * 0.04 : 0), high + (high - low) * 0.12];
  }

  /** Round values on the scale, so many that their labels have room. */
  function ticks(shared, width) {
    if (!shared.log) return Math.max(2, Math.floor(width / 55));
    var low = shared.domain[0], high = shared.domain[1], most = Math.max(2, width / 32);
    var sets = [[1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].map(function (steps) {
      var all = [];
      for (var p = Math.floor(Math.log10(low)); p <= Math.log10(high); p += 1) {
        steps.forEach(function (s) { var v = s * Math.pow(10, p); if (v >= low && v <= high) all.push(v); });
      }
      return all;
    });
    return sets.find(function (s) { return s.length <= most; }) || sets[sets.length - 1];
  }

  function said(c, figure) {
    var unit = figure.unit === "%" ? " %" : figure.unit;
    var lines = [c.program + ", " + c.bar + (c.media ? ", " + c.media : ""), "ours, by the text: " + short(c.value) + unit];
    if (c.range) lines.push("over the readings: " + short(c.range[0]) + " to " + short(c.range[1]) + unit);
    if (c.best !== null) lines.push("best joint reading: " + short(c.best) + unit);
    lines.push(c.stated !== null ? "paper: " + short(c.stated) + unit + " (" + c.claim + ")" : "the paper states no value for this bar");
    return lines.join("\n");
  }

  function plot(figure, media, width, shared) {
    var cells = kept(figure).filter(function (c) { return c.media === media; });
    var programs = [], one = figure.bars.length === 1;
    cells.forEach(function (c) { if (!programs.includes(c.program)) programs.push(c.program); });
    // Two bars of one design: ours by the text, and below it, lighter, under the best joint reading.
    var joint = figure.cells.some(function (c) { return c.best !== null; });
    var band = joint ? 22 : one ? 19 : 13, gap = one ? 0 : 9, upper = joint ? { insetBottom: band * 0.42 } : {};
    var labels = 16 + 7 * Math.max.apply(null, programs.map(function (p) { return p.length; }));
    var name = function (c) { return c.bar; }, right = joint ? 96 : 58;
    var end = function (c) { return Math.max(c.value, c.best === null ? -Infinity : c.best, c.stated === null ? -Infinity : c.stated, c.range ? c.range[1] : -Infinity, figure.origin); };
    var text = function (c) {
      return [short(c.value)].concat(joint ? [c.best === null ? "\u2013" : short(c.best)] : [], c.stated === null ? [] : [short(c.stated)]).join(" | ");
    };
    var on = { y: "bar", fy: "program" };
    return fencepost.plot({
      width: width, height: programs.length * (figure.bars.length * band + gap) + 46,
      marginLeft: labels, marginRight: right, marginTop: 8, marginBottom: 34,
      style: { fontSize: "11px", fontFamily: "inherit", background: "transparent" },
      ariaLabel: figure.title + (media ? ", " + media : ""),
      ariaDescription: "Bars are ours" + (joint ? " (below, lighter: the best joint reading)" : "") + ", diamonds what the paper states, lines the range over the readings; the table below holds the numbers.",
      x: { type: shared.log ? "log" : "linear", domain: shared.domain, grid: true, ticks: ticks(shared, width - labels - right), tickFormat: short, tickSize: 4, label: figure.unit === "%" ? "percent" : figure.unit === "x" ? "times" : "", labelArrow: "none", labelAnchor: "center" },
      y: { domain: figure.bars, axis: null, padding: 0.12 },
      fy: { domain: programs, label: null, padding: gap / (figure.bars.length * band + gap) },
      color: { domain: figure.bars, range: fencepost.colours },
      marks: [
        Plot.axisFy({ anchor: "left", label: null, textAnchor: "end", dx: -4, tickSize: 0, frameAnchor: "left", fontSize: 11 }),
        Plot.barX(cells, Object.assign({ x1: figure.origin, x2: "value", fill: name }, upper, on)),
        Plot.barX(cells.filter(function (c) { return c.best !== null; }), Object.assign({ x1: figure.origin, x2: "best", fill: name, fillOpacity: 0.45, stroke: name, insetTop: band * 0.56 }, on)),
        Plot.ruleX([figure.neutral], { stroke: "currentColor" }),
        Plot.ruleY(cells.filter(function (c) { return c.range; }), Object.assign({ x1: function (c) { return c.range[0]; }, x2: function (c) { return c.range[1]; }, stroke: "currentColor", strokeWidth: 1.2 }, on)),
        Plot.dot(cells.filter(function (c) { return c.stated !== null; }), Object.assign({ x: "stated", symbol: "diamond", r: 5, fill: "var(--ground)", stroke: "currentColor", strokeWidth: 1.7 }, on)),
        Plot.text(cells, Object.assign({ x: end, text: text, textAnchor: "start", dx: 7, fill: "currentColor", fontSize: 10.5 }, on)),
        Plot.tip(cells, Plot.pointerY(Object.assign({ x: "value", title: function (c) { return said(c, figure); }, fill: "var(--raised)", stroke: "var(--quiet)", fontSize: 12, lineHeight: 1.25 }, on))),
      ],
    });
  }

  function legend(figure) {
    var bars = figure.bars.length > 1 ? figure.bars.map(function (b, i) {
      return make("li", {}, [make("i", { style: "background:" + fencepost.colours[i % 8] }), b]);
    }) : [];
    var marks = ["\u25C7 what the paper states" + (figure.cells.some(function (c) { return c.stated === null; }) ? "; without one it gives no number" : "")];
    if (figure.cells.some(function (c) { return c.range; })) marks.push("\u2500 range over each other reading alone");
    if (figure.cells.some(function (c) { return c.best !== null; })) marks.unshift("upper bar by the text, lower and lighter bar best joint reading");
    marks.push(figure.cells.some(function (c) { return c.best !== null; }) ? "numbers: by the text | best joint | paper" : "numbers: ours | paper");
    return make("ul", { class: "legend" }, bars.concat(marks.map(function (m) { return make("li", {}, m); })));
  }

  function numbers(figure) {
    var rows = figure.cells.map(function (c) {
      return [c.media, c.program, c.bar, c.value, c.range ? short(c.range[0]) + " to " + short(c.range[1]) : "", c.best, c.stated === null ? "not stated" : short(c.stated), c.claim || ""];
    });
    var head = ["medium", "program", "bar", "ours", "readings", "best joint", "paper", "claim"];
    return make("details", {}, [make("summary", {}, "The numbers"), make("div", { class: "scroll" }, fencepost.table(figure.title, head, rows))]);
  }

  function draw(figure, place) {
    var charts = make("div", { class: "multiples" });
    var caption = make("figcaption", {}, [make("b", {}, figure.place + ". "), figure.title + "."].concat(figure.baseline ? [make("span", {}, " " + figure.baseline)] : []));
    place.append(make("figure", { class: "figure", id: "figure-" + figure.id }, [caption, legend(figure), charts]));
    place.append(numbers(figure));
    var log = figure.unit === "x" && figure.origin > 0 && figure.cells.every(function (c) { return c.value === null || c.value > 0; });
    var shared = { log: log, domain: domain(figure, log) };
    var all = function () {
      var media = figure.media.filter(function (m) { return fencepost.filter.shows("media", m); });
      var wide = charts.clientWidth, columns = Math.max(1, Math.min(media.length, Math.floor((wide + 16) / 236)));
      charts.style.gridTemplateColumns = "repeat(" + columns + ", minmax(0, 1fr))";
      var width = Math.min(figure.main ? 900 : 680, Math.floor((wide - 16 * (columns - 1)) / columns));
      charts.replaceChildren.apply(charts, media.map(function (m) {
        return make("div", {}, [m ? make("h3", {}, m) : null, plot(figure, m, width, shared)]);
      }));
    };
    fencepost.atWidth(charts, all);
    fencepost.filter.changed(all);
  }

  function filters() {
    var place = document.getElementById("filters"), names = { program: new Set(), media: new Set() };
    data.figures.forEach(function (f) {
      f.cells.forEach(function (c) {
        if (!c.over_all && c.media) { names.program.add(c.program); names.media.add(c.media); }
      });
    });
    Object.keys(names).forEach(function (kind) {
      if (names[kind].size < 2) return;
      place.append(make("span", { class: "quiet" }, kind === "media" ? "media" : "programs"));
      names[kind].forEach(function (n) {
        var b = make("button", { type: "button", "aria-pressed": "true" }, n);
        b.addEventListener("click", function () {
          fencepost.filter.toggle(kind, n);
          b.setAttribute("aria-pressed", String(fencepost.filter.shows(kind, n)));
        });
        place.append(b);
      });
    });
  }

  filters();
  data.figures.forEach(function (f) { draw(f, document.getElementById(f.main ? "main-figure" : "other-figures")); });
})();
