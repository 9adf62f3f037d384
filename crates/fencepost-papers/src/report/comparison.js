// Programs against designs: the heat map, the means in order, and one run's time on a click.
"use strict";
(function () {
  var make = fencepost.make, short = fencepost.short, data = fencepost.data, pair = document.getElementById("pair");
  var programs = Array.from(new Set(data.cells.map(function (c) { return c.program; })));
  var designs = data.geomean.map(function (g) { return g[0]; });
  var all = data.cells.map(function (c) { return c.slowdown; }).filter(Boolean), most = Math.max.apply(null, all), least = Math.min.apply(null, all.concat(1));

  /** Darker is slower; the number stands in the field, so that colour alone says nothing. */
  function ground(v) {
    var share = most === least ? 0 : Math.log(v / least) / Math.log(most / least);
    return "color-mix(in srgb, var(--c2) " + Math.round(6 + 60 * share) + "%, var(--ground))";
  }
  function show(c, button) {
    document.querySelectorAll("#heat [aria-pressed=true]").forEach(function (b) { b.setAttribute("aria-pressed", "false"); });
    button.setAttribute("aria-pressed", "true");
    var plot = make("div", {}), both = data.cells.filter(function (x) { return x.program === c.program && (x.design === c.design || x.design === data.baseline); });
    pair.replaceChildren(
      make("h3", {}, c.program + " on " + c.design + ": " + short(c.time_us) + " \u00b5s, " + short(c.slowdown) + (c.spread ? " \u00b1 " + short(c.spread) : "") + " times " + data.baseline + (c.check ? ", crash states " + c.check : "")),
      fencepost.stallLegend(), plot, make("pre", {}, make("code", {}, c.command))
    );
    plot.append(fencepost.stallPlot("Where the time of " + c.program + " went", both.map(function (x) { return { name: x.design, causes: x.causes }; }), both.map(function (x) { return x.design; }), Math.min(900, pair.clientWidth - 30)));
  }
  var head = make("tr", {}, [make("th", { scope: "col" }, "program")].concat(designs.map(function (d) { return make("th", { scope: "col" }, d); })));
  var rows = programs.map(function (p) {
    return make("tr", {}, [make("th", { scope: "row" }, p)].concat(designs.map(function (d) {
      var c = data.cells.find(function (x) { return x.program === p && x.design === d; });
      if (!c || !c.slowdown) return make("td", {}, "");
      var b = make("button", { type: "button", "aria-pressed": "false", style: "color:var(--ink);width:100%;background:" + ground(c.slowdown) }, short(c.slowdown) + (c.check === "VIOLATED" ? " \u2717" : ""));
      b.addEventListener("click", function () { show(c, b); });
      return make("td", {}, b);
    })));
  });
  document.getElementById("heat").append(make("div", { class: "scroll" }, make("table", { class: "heat" }, [
    make("caption", {}, "Time over that of " + data.baseline + "; darker is slower" + (data.cells.some(function (c) { return c.check; }) ? "; \u2717: recovery fails" : "")), make("thead", {}, head), make("tbody", {}, rows),
  ])));

  var place = document.getElementById("bars"), means = data.geomean.map(function (g) { return { design: g[0], value: g[1], half: g[2] }; });
  place.append(make("h2", {}, "Geometric mean over " + programs.length + " program" + (programs.length === 1 ? "" : "s") + ", with the least and the most"));
  var box = make("figure", {});
  place.append(box);
  fencepost.atWidth(box, function (width) {
    means.forEach(function (m) {
      var of = data.cells.filter(function (c) { return c.design === m.design && c.slowdown; }).map(function (c) { return c.slowdown; });
      m.low = Math.min.apply(null, of); m.high = Math.max.apply(null, of);
    });
    box.replaceChildren(Plot.plot({
      width: Math.min(width, 900), height: means.length * 24 + 44, marginLeft: 130, marginRight: 60, style: { fontSize: "12px", fontFamily: "inherit", background: "transparent" },
      ariaLabel: "Geometric means of the time over " + data.baseline, ariaDescription: "The table below holds the numbers.",
      x: { type: "log", domain: [Math.min(1, least), most * 1.1], ticks: 5, tickFormat: short, grid: true, label: "times " + data.baseline, labelArrow: "none", labelAnchor: "center" }, y: { domain: designs, label: null, tickSize: 0 },
      marks: [
        Plot.barX(means, { x1: 1, x2: "value", y: "design", fill: "var(--c1)" }),
        Plot.ruleY(means, { x1: "low", x2: "high", y: "design", stroke: "currentColor" }),
        Plot.text(means, { x: "high", y: "design", text: function (m) { return short(m.value) + (m.half ? " \u00b1 " + short(m.half) : ""); }, textAnchor: "start", dx: 6, fill: "currentColor" }),
        Plot.ruleX([1], { stroke: "currentColor" }),
      ],
    }));
  });
})();
