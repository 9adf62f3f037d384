// The runs of the page: columns unpacked, and what is drawn of them as lanes.
"use strict";
fencepost.groups = [
  ["loads", ["load-cache", "load-memory"]], ["locks and atomics", ["lock-wait", "atomic"]], ["stores", ["store-queue-full", "store-drain"]],
  ["flushes and drains", ["flush-pending", "pcommit-pending", "drain-pending", "wcb-pending"]],
  ["commits and logs", ["commit-exclusive", "commit-pending", "log-pending", "version-pending", "window-full"]],
  ["buffers of the design", ["persist-buffer-full", "fence-slots", "l1-blocked", "wcb-full", "wcb-wrap", "wbb-full", "order-pending"]],
  ["memory controller", ["write-queue-full"]], ["executing", ["execute"]],
];
// The colour of each group, by number; the same as in reports.
fencepost.groupColour = [2, 3, 4, 5, 6, 7, 8, 1];

fencepost.model = (function () {
  var unpack = fencepost.unpack;

  /** How many of what began have not ended, over time. Both columns are sorted by this. */
  function occupancy(begins, ends) {
    begins = Float64Array.from(begins).sort();
    ends = Float64Array.from(ends).sort();
    var time = [], count = [], i = 0, j = 0, n = 0, most = 0;
    while (i < begins.length || j < ends.length) {
      var t = j >= ends.length || i < begins.length && begins[i] <= ends[j] ? begins[i] : ends[j];
      while (i < begins.length && begins[i] === t) { n += 1; i += 1; }
      while (j < ends.length && ends[j] === t) { n -= 1; j += 1; }
      time.push(t); count.push(n);
      most = Math.max(most, n);
    }
    return { time: Float64Array.from(time), count: Float64Array.from(count), most: most };
  }

  function groupOf(run) {
    return run.tracks.causes.map(function (c) {
      return Math.max(0, fencepost.groups.findIndex(function (g) { return g[1].includes(c); }));
    });
  }

  function threadLanes(run, stalls, marks, stores) {
    var group = groupOf(run), lanes = [];
    for (var t = 0; t < run.names; t += 1) {
      var s = stalls[t] || [new Float64Array(0), new Float64Array(0), new Float64Array(0)];
      var end = s[0].map(function (v, i) { return v + s[1][i]; });
      var ticks = [];
      stores.time.forEach(function (v, i) { if (stores.thread[i] === t) ticks.push([v, "store", i]); });
      marks.time.forEach(function (v, i) { if (marks.thread[i] === t) ticks.push([v, run.tracks.marks.kinds[marks.kind[i]], -1]); });
      ticks.sort(function (a, b) { return a[0] - b[0]; });
      lanes.push({
        kind: "bars", name: t < run.threads ? "thread " + t : "network port " + (t - run.threads), thread: t, start: s[0], end: end,
        colour: s[2].map(function (c) { return fencepost.groupColour[group[c]]; }), cause: s[2],
        ticks: { time: Float64Array.from(ticks, function (x) { return x[0]; }), what: ticks.map(function (x) { return x[1]; }), store: ticks.map(function (x) { return x[2]; }) },
        busy: t < run.threads, finished: t < run.threads ? run.tracks.finished[t] : 0,
      });
    }
    return lanes;
  }

  /** Where stores were between performing and the controller, by the way they took. */
  function wayLanes(run, stores, writes) {
    var ways = new Map(), last = run.end_ps / run.tracks.quantum_ps;
    stores.time.forEach(function (t, i) {
      var w = stores.write[i] - 1;
      var way = w < 0 ? "caches, never written" : run.tracks.writes.causes[writes.cause[w]].replace(/^caches: .*/, "caches, dirty");
      if (!ways.has(way)) ways.set(way, [[], []]);
      ways.get(way)[0].push(t);
      ways.get(way)[1].push(w < 0 ? last : Math.max(t, writes.accepted[w]));
    });
    var lanes = Array.from(ways, function (w) { return Object.assign({ kind: "area", name: w[0], unit: "stores" }, occupancy(w[1][0], w[1][1])); });
    lanes.push(Object.assign({ kind: "area", name: "controller queue", unit: "lines" }, occupancy(writes.accepted, writes.time)));
    return lanes.filter(function (l) { return l.most > 0; });
  }

  function bankLanes(run, writes) {
    var banks = new Map();
    writes.time.forEach(function (t, i) {
      var b = writes.bank[i];
      if (!banks.has(b)) banks.set(b, { start: [], end: [], write: [], last: 0 });
      var lane = banks.get(b);
      lane.start.push(Math.min(t, Math.max(writes.accepted[i], lane.last)));
      lane.end.push(t); lane.write.push(i);
      lane.last = t;
    });
    return Array.from(banks.keys()).sort(function (a, b) { return a - b; }).map(function (b) {
      var lane = banks.get(b);
      return { kind: "bars", name: "bank " + b, start: Float64Array.from(lane.start), end: Float64Array.from(lane.end), colour: new Uint8Array(lane.start.length).fill(8), write: lane.write };
    });
  }

  /** Unpacks one run. */
  function load(run) {
    var t = run.tracks, all = [];
    var want = function (text, rising) { all.push(unpack(text, rising)); };
    t.stalls.forEach(function (s) { want(s[0], true); want(s[1]); want(s[2]); });
    want(t.stores.time, true); want(t.stores.thread); want(t.stores.word); want(t.stores.source); want(t.stores.write);
    want(t.writes.time, true); want(t.writes.waited); want(t.writes.line); want(t.writes.bank); want(t.writes.cause);
    want(t.marks.time, true); want(t.marks.thread); want(t.marks.kind);
    want(t.reads[0], true); want(t.reads[1]); want(t.reads[2]); want(run.crashes.points, true);
    t.queues.forEach(function (q) { want(q[0], true); want(q[1], true); });
    return Promise.all(all).then(function (c) {
      var stalls = t.stalls.map(function () { return [c.shift(), c.shift(), c.shift()]; });
      var stores = { time: c.shift(), thread: c.shift(), word: c.shift(), source: c.shift(), write: c.shift() };
      var writes = { time: c.shift(), waited: c.shift(), line: c.shift(), bank: c.shift(), cause: c.shift() };
      writes.accepted = writes.time.map(function (v, i) { return v - writes.waited[i]; });
      var marks = { time: c.shift(), thread: c.shift(), kind: c.shift() };
      run.stores = stores; run.writes = writes;
      run.reads = { time: c.shift(), thread: c.shift(), store: c.shift() };
      run.points = c.shift();
      var queues = t.queues.map(function (_, i) { return Object.assign({ kind: "area", name: "store queue " + i, unit: "entries that have committed" }, occupancy(c.shift(), c.shift())); });
      run.broken = new Set(run.crashes.broken);
      run.names = Math.max(run.threads, 1 + Math.max.apply(null, [-1].concat(Array.from(new Set(stores.thread)))));
      run.lanes = threadLanes(run, stalls, marks, stores).concat(queues.filter(function (q) { return q.most > 0; }), wayLanes(run, stores, writes), bankLanes(run, writes));
      return run;
    });
  }

  return Promise.all(fencepost.data.runs.map(load));
})();

/** The first place in a sorted column whose value is at least this. */
fencepost.from = function (column, value) {
  var a = 0, b = column.length;
  while (a < b) { var m = (a + b) >> 1; if (column[m] < value) a = m + 1; else b = m; }
  return a;
};
fencepost.time = function (run, steps) {
  var ns = Math.round(steps) * run.tracks.quantum_ps / 1000;
  return ns < 1000 ? fencepost.short(ns) + " ns" : (ns / 1000).toFixed(3).replace(/\.?0+$/, "") + " \u00b5s";
};
