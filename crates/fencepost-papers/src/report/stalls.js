// Where the time went, and how values are distributed: small multiples with one scale each.
"use strict";
(function () {
  var make = fencepost.make, short = fencepost.short, data = fencepost.data;
  var group = fencepost.stallGroup;
  var style = { fontSize: "11px", fontFamily: "inherit", background: "transparent" };

  function byKey(list, key) {
    var map = new Map();
    list.forEach(function (x) { var k = key(x); if (!map.has(k)) map.set(k, []); map.get(k).push(x); });
    return map;
  }

  function drawStalls() {
    var place = document.getElementById("stall-charts");
    place.append(fencepost.stallLegend());
    byKey(data.stalls, function (b) { return b.tag; }).forEach(function (ofTag, tag) {
      byKey(ofTag, function (b) { return b.media; }).forEach(function (ofMedia, media) {
        var charts = make("div", { class: "multiples" });
        var first = place.querySelector("details") === null;
        var rows = [];
        ofMedia.forEach(function (b) { b.causes.forEach(function (c) { rows.push([b.program, b.point, group(c[0]), c[0], c[1]]); }); });
        var numbers = make("details", {}, make("summary", {}, "The numbers"));
        numbers.addEventListener("toggle", function () {
          if (numbers.open && !numbers.querySelector("table")) numbers.append(make("div", { class: "scroll" }, fencepost.table(tag + ", " + media, ["program", "point", "group", "cause", "% of time"], rows)));
        });
        var box = make("details", { open: first ? "" : null }, [make("summary", {}, tag + ", " + media), make("div", {}, charts), numbers]);
        place.append(box);
        var points = Array.from(new Set(ofMedia.map(function (b) { return b.point; })));
        var all = function () {
          var wide = charts.clientWidth, columns = Math.max(1, Math.floor((wide + 16) / 330));
          if (wide === 0) return;
          charts.style.gridTemplateColumns = "repeat(" + columns + ", minmax(0, 1fr))";
          var width = Math.min(560, Math.floor((wide - 16 * (columns - 1)) / columns));
          var programs = byKey(ofMedia, function (b) { return b.program; });
          charts.replaceChildren.apply(charts, Array.from(programs.keys()).filter(function (p) { return fencepost.filter.shows("program", p) && fencepost.filter.shows("media", media); }).map(function (p) {
            return make("div", {}, [make("h3", {}, p), fencepost.stallPlot("Where the time of " + p + " went", programs.get(p).map(function (b) { return { name: b.point, causes: b.causes }; }), points, width)]);
          }));
        };
        fencepost.atWidth(charts, all);
        fencepost.filter.changed(all);
      });
    });
  }

  function distance(d, line, domain, width) {
    var points = line.points.map(function (p) { return { value: p[0], share: p[1] }; });
    return fencepost.plot({
      width: width, height: 130, marginLeft: 36, marginRight: 14, marginTop: 8, marginBottom: 32, style: style,
      ariaLabel: d.title + ", " + line.program, ariaDescription: "Percent of the samples up to each value.",
      x: { type: "symlog", domain: domain, ticks: 5, tickFormat: short, label: d.unit, labelArrow: "none" }, y: { domain: [0, 100], ticks: 3, grid: true, label: null },
      marks: [
        Plot.line([{ value: 0, share: 0 }].concat(points), { x: "value", y: "share", curve: "step-after", stroke: "var(--c1)", strokeWidth: 2 }),
        Plot.tip(points, Plot.pointerX({ x: "value", y: "share", title: function (p) { return short(p.share) + " % up to " + p.value + " " + d.unit; }, fill: "var(--raised)", stroke: "var(--quiet)", fontSize: 12 })),
      ],
    });
  }

  function drawDistances() {
    var place = document.getElementById("distance-charts");
    if (!place) return;
    data.distances.forEach(function (d, i) {
      var charts = make("div", { class: "multiples" });
      place.append(make("details", { open: i === 0 ? "" : null }, [make("summary", {}, d.title), make("p", { class: "quiet" }, "Percent of the samples up to each value, in " + d.unit + "."), charts]));
      var most = Math.max.apply(null, d.lines.map(function (l) { return l.points.length ? l.points[l.points.length - 1][0] : 1; }));
      var all = function () {
        var wide = charts.clientWidth;
        if (wide === 0) return;
        var columns = Math.max(1, Math.floor((wide + 16) / 250)), width = Math.min(420, Math.floor((wide - 16 * (columns - 1)) / columns));
        charts.style.gridTemplateColumns = "repeat(" + columns + ", minmax(0, 1fr))";
        charts.replaceChildren.apply(charts, d.lines.filter(function (l) { return fencepost.filter.shows("program", l.program); }).map(function (l) {
          return make("div", {}, [make("h3", {}, l.program), distance(d, l, [0, Math.max(1, most)], width)]);
        }));
      };
      fencepost.atWidth(charts, all);
      fencepost.filter.changed(all);
    });
  }

  drawStalls();
  drawDistances();
})();
