// The claim map: a line for each claim that was measured, its values over the paper's on one common scale. A click shows what
// stands behind a claim.
"use strict";
(function () {
  var make = fencepost.make, short = fencepost.short, behind = fencepost.data.behind;
  var panel = document.getElementById("behind"), list = make("ul", { class: "claims" });
  var NEAR = 0.2;

  /** How far a value lies from no difference, in the paper's measure: gains in percent count as the ratios they stand for. */
  function ratio(claim, v) {
    if (v === null || claim.number === null) return null;
    var of = claim.unit === "%" && claim.neutral !== null ? function (x) { return 1 + x / 100; } : function (x) { return x; };
    var r = of(v) / of(claim.number);
    return r > 0 ? r : null;
  }

  var shown = behind.claims.filter(function (c) { return c.outcomes.length || c.kind === "measured" && c.verdict !== "not-run" && c.verdict !== "quoted"; });
  shown.forEach(function (c) {
    if (!c.outcomes.length) c.outcomes = [[-1, parseFloat(c.measured), c.verdict === "match"]];
    c.ratios = c.outcomes.map(function (o) { return ratio(c, o[1]); });
  });
  var all = [0.5, 2].concat.apply([0.5, 2], shown.map(function (c) { return c.ratios.filter(Boolean); }));
  var low = Math.max(1 / 64, Math.min.apply(null, all)), high = Math.min(64, Math.max.apply(null, all));
  var scale = d3.scaleLog([low / 1.1, high * 1.1], [0, 1]).clamp(true);

  function svg(name, attributes, children) {
    var e = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(function (a) { e.setAttribute(a[0], a[1]); });
    (children || []).forEach(function (c) { e.append(c); });
    return e;
  }
  function percent(v) { return (100 * scale(v)).toFixed(2) + "%"; }

  /** The line of one claim: the paper's value, the band that counts as met, a point for each choice of readings. */
  function strip(c) {
    var marks = [svg("line", { x1: 0, x2: "100%", y1: 9, y2: 9, stroke: "var(--line)" })];
    var numbers = c.ratios.some(function (r) { return r !== null; });
    if (numbers) {
      var a = 100 * scale(1 - NEAR), b = 100 * scale(1 + NEAR);
      marks.push(svg("rect", { x: a + "%", width: b - a + "%", y: 0, height: 18, fill: "var(--good-ground)" }));
      marks.push(svg("line", { x1: percent(1), x2: percent(1), y1: 0, y2: 18, stroke: "currentColor", "stroke-width": 2 }));
    }
    c.outcomes.map(function (o, i) { return [o, i]; }).reverse().forEach(function (p) {
      var o = p[0], i = p[1], r = c.ratios[i];
      if (numbers && r === null) return;
      var x = numbers ? percent(r) : (100 * (i + 0.5) / c.outcomes.length).toFixed(2) + "%";
      marks.push(i === 0
        ? svg("circle", { class: "point primary", cx: x, cy: 9, r: 6, fill: o[2] ? "var(--good)" : "var(--bad)", stroke: "var(--ground)", "stroke-width": 1.5 })
        : svg("circle", { class: "point", cx: x, cy: 9, r: 3.5, fill: o[2] ? "var(--good)" : "none", stroke: o[2] ? "var(--good)" : "var(--bad)", "stroke-opacity": 0.8 }));
    });
    return svg("svg", { height: 18, "aria-hidden": "true" }, marks);
  }

  function words(c) {
    var values = c.outcomes.map(function (o) { return o[1]; }).filter(function (v) { return v !== null && !isNaN(v); });
    var text = c.measured + (c.unit && c.unit !== "x" ? " " + c.unit : "") + ", paper " + c.paper;
    if (values.length > 1) text += "; " + short(Math.min.apply(null, values)) + " to " + short(Math.max.apply(null, values));
    if (c.holds !== null) text += "; met under " + Math.round(100 * c.holds) + " %";
    return text;
  }

  /** The run again, and its beginning as a timeline. */
  function command(text) {
    var drawn = text.replace(/^fencepost run/, "fencepost timeline").replace(/ --ops \d+ --warmup \d+/, " --ops 20").replace(/ --(cycles|points) \d+| --check/g, "");
    return make("pre", {}, make("code", {}, text + "\n" + drawn));
  }

  function show(c, button) {
    list.querySelectorAll("[aria-pressed=true]").forEach(function (b) { b.setAttribute("aria-pressed", "false"); });
    button.setAttribute("aria-pressed", "true");
    var rows = c.outcomes.filter(function (o) { return o[0] >= 0; }).map(function (o) {
      var choice = behind.choices[o[0]];
      return [choice.name, o[1], o[2] ? "met" : "not met", choice.name.startsWith("joint") ? choice.readings.join(", ") : ""];
    });
    var runs = c.runs.map(function (i) { return behind.runs[i]; });
    panel.replaceChildren(
      make("h3", {}, c.id + ": " + c.sentence),
      make("p", {}, c.metric + ". " + words(c) + ". " + (c.decided_by ? "Decided by " + c.decided_by + ". " : "") + c.note),
      rows.length > 1 ? make("details", { open: "" }, [make("summary", {}, "Under each choice of readings (" + rows.length + ")"), make("div", { class: "scroll" }, fencepost.table(c.sentence, ["choice", "value", "claim", "readings"], rows))]) : "",
      runs.length ? make("details", { open: "" }, [make("summary", {}, "Runs behind it (" + runs.length + ")")].concat(runs.map(function (r) {
        return make("div", {}, [make("p", {}, r.program + " on " + r.point + ", " + r.media + ": " + short(r.time_us) + " \u00b5s"), r.command ? command(r.command) : ""]);
      }))) : make("p", { class: "quiet" }, "No run of this experiment stands behind it.")
    );
  }

  shown.forEach(function (c) {
    var button = make("button", { type: "button", "aria-pressed": "false", "data-claim": c.id }, [
      make("span", {}, [make("b", {}, c.sentence), make("br"), make("span", { class: "said" }, c.id + ", " + c.section + (c.config ? ": " + c.config : ""))]), strip(c), make("span", { class: "said" }, words(c)),
    ]);
    button.addEventListener("click", function () { show(c, button); });
    list.append(make("li", {}, button));
  });
  document.getElementById("claim-map").append(list);
  document.getElementById("map-about").textContent = shown.length === 0 ? "No claim was measured." :
    "Values over the paper's, from " + short(low) + " to " + short(high) + " times on one logarithmic scale: the line is the paper's value, the band what counts as met (20 %), the large point ours by the text, small ones other readings; filled points meet the claim. Orders have a point for each choice, in the order of the inputs.";
})();
