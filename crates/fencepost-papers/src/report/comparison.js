// Programs against designs: the heat map, the means in order, and one run's time on a click; one machine at a time.
"use strict";
(function () {
  var make = fencepost.make, short = fencepost.short, data = fencepost.data, pair = document.getElementById("pair"), redraw = [];

  function compared(machine) {
    var programs = Array.from(new Set(machine.cells.map(function (c) { return c.program; })));
    var designs = machine.geomean.map(function (g) { return g[0]; });
    var all = machine.cells.map(function (c) { return c.slowdown; }).filter(Boolean);
    var most = Math.max.apply(null, all.concat(1)), least = Math.min.apply(null, all.concat(1));

    /** Darker is slower; the number stands in the field, so that colour alone says nothing. */
    function ground(v) {
      var share = most === least ? 0 : Math.log(v / least) / Math.log(most / least);
      return "color-mix(in srgb, var(--c2) " + Math.round(6 + 40 * share) + "%, var(--ground))";
    }
    function show(c, button) {
      document.querySelectorAll("#heat [aria-pressed=true]").forEach(function (b) { b.setAttribute("aria-pressed", "false"); });
      button.setAttribute("aria-pressed", "true");
      var plot = make("div", {}), both = machine.cells.filter(function (x) { return x.program === c.program && (x.design === c.design || x.design === data.baseline); });
      pair.replaceChildren(
        make("h3", {}, c.program + " on " + c.design + ": " + short(c.time_us) + " \u00b5s, " + short(c.slowdown) + (c.half === null ? "" : " \u00b1" + short(c.half)) + " times " + data.baseline + (c.check ? ", crash states " + c.check : "")),
        fencepost.stallLegend(), plot, make("pre", { tabindex: "0" }, make("code", {}, "fencepost run " + c.program + " -d " + c.design + " -m " + machine.machine + data.options))
      );
      plot.append(fencepost.stallPlot("Where the time of " + c.program + " went", both.map(function (x) { return { name: x.design, causes: x.causes }; }), both.map(function (x) { return x.design; }), Math.min(900, pair.clientWidth - 30)));
    }
    var head = make("tr", {}, [make("th", { scope: "col" }, "program")].concat(designs.map(function (d) { return make("th", { scope: "col" }, d); })));
    var rows = programs.map(function (p) {
      return make("tr", {}, [make("th", { scope: "row" }, p)].concat(designs.map(function (d) {
        var c = machine.cells.find(function (x) { return x.program === p && x.design === d; });
        if (!c || !c.slowdown) return make("td", {}, "");
        var bad = c.check === "VIOLATED";
        var b = make("button", { type: "button", "aria-pressed": "false", "aria-label": p + " on " + d + ": " + short(c.slowdown) + " times " + data.baseline + (bad ? ", recovery fails" : ""), style: "color:var(--ink);width:100%;background:" + ground(c.slowdown) }, short(c.slowdown) + (bad ? " \u2717" : ""));
        b.addEventListener("click", function () { show(c, b); });
        return make("td", {}, b);
      })));
    });
    var scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heat map" }, make("table", { class: "heat" }, [
      make("caption", {}, "Time over that of " + data.baseline + " on " + machine.machine + "; darker is slower" + (machine.cells.some(function (c) { return c.check; }) ? "; \u2717: recovery fails" : "")), make("thead", {}, head), make("tbody", {}, rows),
    ]));
    document.getElementById("heat").replaceChildren(scroll);
    bars(machine, programs.length, designs, most, least);
  }

  function bars(machine, programs, designs, most, least) {
    var place = document.getElementById("bars"), sure = machine.geomean.some(function (g) { return g[2] !== null; });
    var means = machine.geomean.map(function (g) { return { design: g[0], value: g[1], half: g[2] }; });
    var box = make("figure", {});
    place.replaceChildren(
      make("h2", {}, "Geometric mean over " + programs + " program" + (programs === 1 ? "" : "s")),
      make("p", { class: "quiet" }, "Thin lines: the least and the most of a program." + (sure ? " Thick lines: the 95 % interval of the mean over the seeds." : "")),
      box
    );
    means.forEach(function (m) {
      var of = machine.cells.filter(function (c) { return c.design === m.design && c.slowdown; }).map(function (c) { return c.slowdown; });
      m.low = Math.min.apply(null, of); m.high = Math.max.apply(null, of);
      m.from = Math.max(m.value - m.half, m.value / 100); m.to = m.value + m.half;
    });
    var top = Math.max.apply(null, [most].concat(sure ? means.map(function (m) { return m.to; }) : []));
    var labels = 20 + 7 * Math.max.apply(null, designs.map(function (d) { return d.length; }));
    var draw = function (width) {
      box.replaceChildren(fencepost.plot({
        width: Math.min(width, 900), height: means.length * 24 + 44, marginLeft: labels, marginRight: 70, style: { fontSize: "12px", fontFamily: "inherit", background: "transparent" },
        ariaLabel: "Geometric means of the time over " + data.baseline, ariaDescription: "The table below holds the numbers.",
        x: { type: "log", domain: [Math.min(1, least), top * 1.1], ticks: width < 500 ? 3 : 5, tickFormat: short, grid: true, label: "times " + data.baseline, labelArrow: "none", labelAnchor: "center" }, y: { domain: designs, label: null, tickSize: 0 },
        marks: [
          Plot.barX(means, { x1: 1, x2: "value", y: "design", fill: "var(--c1)" }),
          Plot.ruleY(means, { x1: "low", x2: "high", y: "design", stroke: "currentColor" }),
          sure ? Plot.ruleY(means, { x1: "from", x2: "to", y: "design", stroke: "currentColor", strokeWidth: 5, strokeOpacity: 0.6 }) : null,
          Plot.text(means, { x: function (m) { return Math.max(m.high, sure ? m.to : 0); }, y: "design", text: function (m) { return short(m.value) + (m.half === null ? "" : " \u00b1" + short(m.half)); }, textAnchor: "start", dx: 6, fill: "currentColor" }),
          Plot.ruleX([1], { stroke: "currentColor" }),
        ],
      }));
    };
    redraw = [draw];
    draw(Math.floor(place.clientWidth));
  }

  /** All runs of all machines. */
  function numbers() {
    var rows = [].concat.apply([], data.machines.map(function (m) {
      return m.cells.map(function (c) {
        var most = c.causes[0], half = c.half === null ? "" : " \u00b1" + short(c.half);
        return [m.machine, c.program, c.design, c.time_us, c.slowdown === null ? "" : short(c.slowdown) + half, c.pm_writes, most ? most[0] + " " + short(most[1]) + " %" : "", c.check || ""];
      });
    }));
    var table = fencepost.table("runs", ["machine", "program", "design", "time, \u00b5s", "relative", "PM writes", "longest", "crash check"], rows);
    document.getElementById("numbers").append(table);
    fencepost.alive(table);
  }

  var chosen = document.getElementById("machines");
  if (data.machines.length > 1) data.machines.forEach(function (m, i) {
    var b = make("button", { type: "button", "aria-pressed": String(i === 0) }, m.machine);
    b.addEventListener("click", function () {
      chosen.querySelectorAll("button").forEach(function (o) { o.setAttribute("aria-pressed", String(o === b)); });
      pair.replaceChildren(make("p", {}, "Choose a field for where its time went."));
      compared(m);
    });
    chosen.append(b);
  });
  numbers();
  if (data.machines.length) compared(data.machines[0]);
  fencepost.atWidth(document.getElementById("bars"), function (width) { redraw.forEach(function (d) { d(width); }); });
})();
