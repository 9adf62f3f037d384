// Stacked bars of where time went; each group of causes has one colour on every page.
"use strict";
fencepost.stallGroups = function () { return fencepost.data.groups.map(function (g) { return g[0]; }); };
fencepost.stallGroup = function (cause) {
  var names = fencepost.stallGroups(), i = fencepost.data.groups.findIndex(function (g) { return g[1].includes(cause); });
  return names[i < 0 ? names.length - 1 : i];
};
fencepost.stallLegend = function () {
  return fencepost.make("ul", { class: "legend" }, fencepost.data.groups.map(function (g, i) {
    return fencepost.make("li", { title: g[1].join(", ") }, [fencepost.make("i", { style: "background:var(--c" + (i + 1) + ")" }), g[0]]);
  }));
};
/** Bars named `names` in this order; each of `bars` has a name and its causes with their shares. */
fencepost.stallPlot = function (title, bars, names, width) {
  var parts = [], groups = fencepost.stallGroups();
  bars.forEach(function (b) {
    b.causes.forEach(function (c) { parts.push({ name: b.name, group: fencepost.stallGroup(c[0]), cause: c[0], share: c[1] }); });
  });
  var stack = function (more) { return Plot.stackX(Object.assign({ order: groups, x: "share", y: "name", z: function (p) { return p.group + p.cause; } }, more)); };
  return fencepost.plot({
    width: width, height: names.length * 20 + 40, marginLeft: 104, marginRight: 14, marginTop: 4, marginBottom: 30,
    style: { fontSize: "11px", fontFamily: "inherit", background: "transparent" },
    ariaLabel: title, ariaDescription: "Percent of the threads' time; the table below holds the numbers.",
    x: { domain: [0, 100], ticks: 5, label: "percent of the threads' time", labelArrow: "none", labelAnchor: "center" },
    y: { domain: names, label: null, tickSize: 0 },
    color: { domain: groups, range: [1, 2, 3, 4, 5, 6, 7, 8].map(function (n) { return "var(--c" + n + ")"; }) },
    marks: [
      Plot.barX(parts, stack({ fill: "group", inset: 0.3, stroke: "var(--ground)", strokeWidth: 0.4 })),
      Plot.tip(parts, Plot.pointer(stack({ title: function (p) { return p.name + "\n" + p.cause + ": " + fencepost.short(p.share) + " %"; }, fill: "var(--raised)", stroke: "var(--quiet)", fontSize: 12 }))),
    ],
  });
};
