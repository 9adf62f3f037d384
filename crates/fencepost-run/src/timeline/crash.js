// The crash slider: a power failure after any durable event, what is then durable, and what recovery made of it.
"use strict";
fencepost.ready = fencepost.model.then(function (runs) {
  var make = fencepost.make, view = fencepost.view, from = fencepost.from, SHOWN = 12;
  var slider = document.getElementById("moment"), verdicts = document.getElementById("verdicts");

  // Moments at which anything becomes durable, on the common clock; before the first there is one more.
  var all = new Set();
  runs.forEach(function (r) { r.writes.time.forEach(function (t) { all.add(t); }); });
  var moments = [0].concat(Array.from(all).sort(function (a, b) { return a - b; }));
  slider.max = moments.length - 1;

  /** How many durable events a run has had. Several may share the moment. */
  function events(run, t, first) { return first ? 0 : from(run.writes.time, t + 1e-6); }

  function name(run, i) {
    var w = run.stores.write[i] - 1, where = w < 0 ? "caches" : run.tracks.writes.causes[run.writes.cause[w]].replace(/:.*/, "");
    return { source: run.tracks.sources[run.stores.source[i]], thread: run.stores.thread[i], address: "0x" + (8 * (run.stores.word[i] + run.tracks.stores.base)).toString(16), where: where };
  }

  /** The newest store of each word that has performed, by what a power failure makes of it. */
  function fates(run, t, n) {
    var newest = new Map(), s = run.stores, end = from(s.time, t + 1e-6), durable = 0, may = [], lost = [];
    for (var i = 0; i < end; i += 1) newest.set(s.word[i], i);
    newest.forEach(function (i) {
      var w = s.write[i] - 1;
      if (w >= 0 && w < n) durable += 1;
      else if (w >= 0 && run.writes.accepted[w] <= t) may.push(i);
      else lost.push(i);
    });
    return { durable: durable, may: may, lost: lost };
  }

  function list(run, title, stores) {
    if (!stores.length) return "";
    var shown = stores.slice(-SHOWN).reverse().map(function (i) {
      var x = name(run, i);
      return make("li", {}, [make("code", {}, x.source), " thread " + x.thread + ", " + x.address + ", in " + x.where]);
    });
    if (stores.length > SHOWN) shown.push(make("li", {}, "and " + (stores.length - SHOWN) + " older ones"));
    return make("details", { open: stores.length <= SHOWN ? "" : null }, [make("summary", {}, title + " (" + stores.length + ")"), make("ul", {}, shown)]);
  }

  function witness(w) {
    var rows = [make("p", { class: "bad says" }, "Recovery fails: " + w.why + ".")];
    var stores = function (title, names) { if (names && names.length) rows.push(make("p", {}, title), make("ul", {}, names.slice(0, SHOWN).map(function (n) { return make("li", {}, n); }))); };
    stores("Durable, though nothing forced it:", w.persisted);
    stores("Lost:", w.missing);
    if (w.source && w.source.length) rows.push(make("p", {}, ["Lines of the program: ", make("code", {}, w.source.join(", "))]));
    if (w.replay) rows.push(make("pre", {}, make("code", {}, "fencepost replay '" + w.replay + "'")));
    return rows;
  }

  /** What recovery made of the crash after so many durable events, in words. */
  function verdict(run, n) {
    var i = from(run.points, n);
    if (run.points[i] !== n) {
      var near = i > 0 ? run.points[i - 1] : run.points[0];
      return [make("p", { class: "says" }, near === undefined ? "No crash point was recovered." : "Not recovered here; after event " + near + " recovery " + (run.broken.has(near) ? "fails." : "succeeds."))];
    }
    if (!run.broken.has(n)) return [make("p", { class: "good says" }, "Recovery succeeds: the program's own audit finds nothing wrong.")];
    var told = run.crashes.told.find(function (x) { return x[0] === n; });
    return told ? witness(told[1]) : [make("p", { class: "bad says" }, "Recovery fails here too.")];
  }

  function count(n, word) { return n + " " + word + (n === 1 ? "" : "s"); }

  /** Crash states that the contract allows at the last moment before this one for which they were recovered. */
  function allowed(run, t) {
    var all = run.crashes.allowed, i = all.findIndex(function (a) { return a.time > t + 1e-6; });
    var here = i < 0 ? all[all.length - 1] : all[i - 1];
    if (!here || here.states.length < 2) return "";
    var source = function (s) { return s === null ? "a store" : run.tracks.sources[run.stores.source[s]]; };
    var title = {
      least: function () { return "only what must be durable is"; }, most: function () { return "all that may be durable is"; },
      early: function (s) { return source(s.store) + " early"; }, late: function (s) { return source(s.store) + " late"; },
    };
    var said = make("div", { role: "status" });
    var options = here.states.map(function (s, k) { return make("option", { value: k }, (s.why ? "fails: " : "recovers: ") + title[s.pick](s)); });
    var pick = make("select", {}, options);
    var show = function () {
      var s = here.states[Number(pick.value)], fewer = s.pick === "least" || s.pick === "early";
      var names = s.named.map(function (n) { var x = name(run, n); return make("li", {}, [make("code", {}, x.source), " thread " + x.thread + ", " + x.address]); });
      said.replaceChildren(
        make("p", { class: s.why ? "bad says" : "good says" }, s.why ? "Recovery fails: " + s.why + "." : "Recovery succeeds."),
        make("p", {}, count(s.counts[0], "store") + " durable though nothing forced " + (s.counts[0] === 1 ? "it" : "them") + ", " + s.counts[1] + " lost" + (names.length ? "; " + (fewer ? "durable" : "lost") + ":" : ".")),
        make("ul", {}, names));
    };
    pick.addEventListener("change", show);
    show();
    return make("details", {}, [
      make("summary", {}, "What else may be left (" + count(here.states.length, "state") + " that " + run.contract + " allows, at " + fencepost.time(run, here.time) + ")"),
      make("p", {}, [make("label", {}, ["Pick one: ", pick])]), said,
    ]);
  }

  function show(index) {
    var t = moments[index];
    view.moment = t;
    view.show(t);
    document.getElementById("when").textContent = index === 0 ? "before anything became durable" : "at " + fencepost.time(runs[0], t);
    slider.setAttribute("aria-valuetext", document.getElementById("when").textContent);
    verdicts.replaceChildren.apply(verdicts, runs.map(function (run) {
      var n = events(run, t, index === 0), f = fates(run, t, n);
      return make("div", { "data-design": run.design, "data-events": n }, [
        make("h3", {}, run.design + ", after " + n + " of " + run.writes.time.length + " durable events"),
        make("p", {}, f.durable + " words durable, " + f.may.length + " may be, " + f.lost.length + " lost."),
      ].concat(verdict(run, n), [allowed(run, t), list(run, "May be durable: the controller has them", f.may), list(run, "Lost: only caches or buffers hold them", f.lost)]));
    }));
  }
  function go(index) {
    index = Math.max(0, Math.min(moments.length - 1, index));
    slider.value = index;
    show(index);
  }
  var here = function () { return Number(slider.value); };
  slider.addEventListener("input", function () { show(here()); });
  var button = function (id, act) { document.getElementById(id).addEventListener("click", act); };
  button("before", function () { go(here() - 1); });
  button("after", function () { go(here() + 1); });
  var time = function (run, n) { return n === 0 ? 0 : run.writes.time[n - 1]; };
  button("broken", function () {
    var next = [];
    runs.forEach(function (r) { r.crashes.broken.forEach(function (n) { next.push(time(r, n)); }); });
    next.sort(function (a, b) { return a - b; });
    var later = next.find(function (t) { return t > moments[here()]; });
    if (later === undefined) later = next[0];
    if (later !== undefined) go(moments.indexOf(later));
  });
  button("smallest", function () {
    verdicts.replaceChildren.apply(verdicts, runs.map(function (run) {
      var first = run.crashes.told[0], w = run.crashes.smallest || first && first[1];
      var where = run.crashes.smallest ? "writes in flight in another order" : first ? "after " + first[0] + " durable events" : "";
      return make("div", { "data-design": run.design }, [make("h3", {}, run.design + (where ? ": " + where : ""))].concat(w ? witness(w) : [make("p", { class: "good says" }, "None was found: recovery succeeds after every crash point that was tried, and with the writes in flight in every order that was tried.")]));
    }));
  });
  if (!runs.some(function (r) { return r.crashes.broken.length; })) document.getElementById("broken").disabled = true;

  var opened = fencepost.data.opened.events;
  if (opened !== null) {
    var t = time(runs[0], opened);
    go(Math.max(0, moments.indexOf(t)));
    view.zoom(0.1, t);
  } else go(moments.length - 1);
});
