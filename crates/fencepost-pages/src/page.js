// What every page shares: its document, small helpers, tables that sort and search.
"use strict";
var fencepost = (function () {
  var data = JSON.parse(document.getElementById("data").textContent);

  /** An element with attributes and children; text becomes a text node. */
  function make(name, attributes, children) {
    var e = document.createElement(name);
    Object.entries(attributes || {}).forEach(function (a) {
      if (a[0].startsWith("on")) e.addEventListener(a[0].slice(2), a[1]);
      else if (a[1] !== null && a[1] !== undefined && a[1] !== false) e.setAttribute(a[0], a[1]);
    });
    [].concat(children === undefined ? [] : children).forEach(function (c) {
      if (c !== null) e.append(c);
    });
    return e;
  }

  /** Three significant digits, as the tables print them. */
  function short(v) {
    if (v === null || v === undefined) return "";
    if (v === 0 || !isFinite(v)) return String(v);
    var digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v)))));
    var text = v.toFixed(digits);
    return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  }

  /** A table element of rows of cells; numbers stand to the right. */
  function table(caption, head, rows) {
    var number = head.map(function (_, i) {
      return rows.length > 0 && rows.every(function (r) { return r[i] === null || r[i] === "" || typeof r[i] === "number"; });
    });
    var cell = function (tag) {
      return function (c, i) {
        var text = typeof c === "number" ? short(c) : c === null || c === undefined ? "" : c;
        return make(tag, { class: number[i] ? "n" : null, "data-head": tag === "td" ? head[i] : null, scope: tag === "th" ? "col" : null }, text);
      };
    };
    return make("table", { class: "stack" }, [
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, head.map(cell("th")))),
      make("tbody", {}, rows.map(function (r) { return make("tr", {}, r.map(cell("td"))); })),
    ]);
  }

  function key(cell) {
    var text = cell.textContent.trim(), n = parseFloat(text.replace(/,/g, ""));
    return isNaN(n) || !/^[-+<>=]*[\d.]/.test(text) ? text.toLowerCase() : n;
  }
  function compare(a, b) {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  }

  /** Buttons in the head that sort; a field above that keeps the rows with all its words. */
  function alive(t) {
    var body = t.tBodies[0], heads = Array.from(t.tHead.rows[0].cells);
    heads.forEach(function (th, i) {
      var button = make("button", { type: "button" }, th.textContent);
      th.replaceChildren(button);
      button.addEventListener("click", function () {
        var down = th.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.from(body.rows);
        rows.sort(function (a, b) { return compare(key(a.cells[i]), key(b.cells[i])) * (down ? -1 : 1); });
        body.append.apply(body, rows);
      });
    });
    var name = t.caption ? t.caption.textContent : "the table";
    var said = make("span", { class: "quiet", role: "status" });
    var field = make("input", { type: "search", placeholder: "search", "aria-label": "Search " + name });
    field.addEventListener("input", function () {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), left = 0;
      Array.from(body.rows).forEach(function (r) {
        var text = r.textContent.toLowerCase();
        r.hidden = !words.every(function (w) { return text.includes(w); });
        if (!r.hidden) left += 1;
      });
      said.textContent = words.length ? left + " of " + body.rows.length + " rows" : "";
    });
    t.before(make("div", { class: "filters screen-only" }, [field, said]));
  }

  /** Calls `draw` now, and again whenever the width of `place` changes. */
  function atWidth(place, draw) {
    var last = 0;
    var again = function () {
      var width = Math.floor(place.clientWidth);
      if (width > 0 && Math.abs(width - last) > 8) { last = width; draw(width); }
    };
    again();
    if (window.ResizeObserver) new ResizeObserver(again).observe(place);
  }

  /** A plot as one picture with its label and description: its parts have none of their own, which nobody could reach. */
  function plot(options) {
    var drawn = Plot.plot(options), svg = drawn.matches("svg") ? drawn : drawn.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.querySelectorAll("[aria-label]").forEach(function (e) { e.removeAttribute("aria-label"); e.removeAttribute("aria-description"); });
    return drawn;
  }

  /** The numbers of a packed column (see pack.rs); of a rising one, the sums of its steps. */
  function unpack(text, rising) {
    var bytes = Uint8Array.from(atob(text), function (c) { return c.charCodeAt(0); });
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer().then(function (buffer) {
      var b = new Uint8Array(buffer), n = 0, i;
      for (i = 0; i < b.length; i += 1) if (b[i] < 0x80) n += 1;
      var out = new Float64Array(n), at = 0, v = 0, scale = 1, sum = 0;
      for (i = 0; i < b.length; i += 1) {
        v += (b[i] & 0x7f) * scale;
        scale *= 128;
        if (b[i] < 0x80) {
          sum = rising ? sum + v : v;
          out[at] = sum;
          at += 1; v = 0; scale = 1;
        }
      }
      return out;
    });
  }

  document.querySelectorAll("table.alive").forEach(alive);
  // What is folded is printed too.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
  return { data: data, make: make, short: short, table: table, alive: alive, atWidth: atWidth, plot: plot, unpack: unpack };
})();
