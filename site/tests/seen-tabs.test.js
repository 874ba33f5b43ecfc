import assert from "node:assert/strict";
import test from "node:test";
import {
  depthText, heightsWithin, heightText, paceText, SeenTabs, seenText,
} from "../js/seen-tabs.js";

const METRE_PX = 96 / 0.0254;
function addAll(seen, bundle, first, end, nowMs, step = 1) {
  for (let slot = first; slot < end; slot += step) seen.add(bundle, slot, nowMs);
}

test("a tab is counted once, also after it was saved, and anew in another scan", () => {
  const seen = new SeenTabs("scans/a/");
  addAll(seen, 7, 0, 120, 1_000, 2);
  assert.equal(seen.count, 60);
  addAll(seen, 7, 10, 40, 2_000);
  assert.equal(seen.count, 75);
  seen.add(8, 119, 3_000);
  const again = new SeenTabs("scans/a/", JSON.parse(JSON.stringify(seen.save())));
  addAll(again, 7, 0, 120, 0);
  again.add(8, 119, 0);
  assert.equal(again.count, 121);
  assert.equal(new SeenTabs("scans/b/", seen.save()).count, 0);
});

test("what was saved stays small however many tabs were seen", () => {
  const seen = new SeenTabs("scans/a/");
  for (let bundle = 0; bundle < 8_000; bundle += 1) addAll(seen, bundle, 0, 120, 0);
  assert.equal(seen.count, 960_000);
  const text = JSON.stringify(seen.save());
  assert.ok(text.length < 300_000, `${text.length}`);
  assert.equal(new SeenTabs("scans/a/", JSON.parse(text)).count, 960_000);
});

test("the number is told with its share, to a digit that means something", () => {
  const text = (count, hosts) => seenText({ count }, hosts);
  assert.equal(text(1_240, 30_112_334), "1,240 tabs seen: 0.004% of this page");
  assert.equal(text(1, 30_112_334), "1 tab seen: 0.000003% of this page");
  assert.equal(text(3_000, 24_000), "3,000 tabs seen: 13% of this page");
  assert.equal(text(9, 0), "9 tabs seen");
  assert.equal(text(9, 8), "9 tabs seen: 100% of this page");
});

test("the pace counts time with new tabs only, and is told when it means something", () => {
  const seen = new SeenTabs("scans/a/");
  let now = 5_000;
  for (let bundle = 0; bundle < 60; bundle += 1) {
    now += bundle === 30 ? 3_600_000 : 1_000;
    addAll(seen, bundle, 0, 120, now);
    if (bundle === 5) assert.equal(paceText(seen, 30_000_000), "");
  }
  assert.equal(seen.count, 7_200);
  assert.equal(paceText(seen, 30_000_000), "At this pace the rest takes 3.1 days.");
  assert.equal(paceText({ count: 1_240, ms: 60_000 }, 30_112_334),
    "At this pace the rest takes 17 days.");
  assert.equal(paceText({ count: 100, ms: 600_000 }, 30_112_334),
    "At this pace the rest takes 5.7 years.");
  assert.equal(paceText({ count: 6_000, ms: 60_000 }, 6_000), "", "all are seen");
});

test("heights are reached one after the other, in pixels of 1/96 inch", () => {
  assert.equal(heightsWithin(0.4 * METRE_PX), 0);
  assert.equal(heightsWithin(0.51 * METRE_PX), 1);
  assert.equal(heightsWithin(331 * METRE_PX), 10);
  const wall = 36_500 * METRE_PX;
  assert.equal(heightText(1, wall), "Half a metre down. The whole wall is 37 kilometres tall.");
  assert.match(heightText(3, wall), /^5\.5 metres down, as far as a giraffe is high\. Not halfway/);
  assert.match(heightText(heightsWithin(331 * METRE_PX), wall), /Eiffel Tower is high/);
  assert.match(heightText(3, 9 * METRE_PX), /More than halfway\.$/);
  assert.match(heightText(1, 300 * METRE_PX), /300 metres tall/);
});

test("the depth is that of the view, or the last height that was reached", () => {
  assert.equal(depthText(0, 0.3 * METRE_PX), "");
  assert.equal(depthText(0, 0.61 * METRE_PX), "0.61 metres down");
  assert.equal(depthText(1, 3 * METRE_PX), "3 metres down, more than the height of a door");
  assert.equal(depthText(3, 0), "5.5 metres down, more than the height of a giraffe");
  assert.match(depthText(2, 400 * METRE_PX), /^400 metres down, .* the Eiffel Tower$/);
});

test("what was saved by anything else is not taken over", () => {
  const scan = "scans/a/";
  const garbage = [
    5, "x", true, [], {}, { scan }, { scan, bundles: 7 }, { scan, bundles: [5] },
    { scan, bundles: [null, "ab", [], [1], [1, 2], [1, "x"], [-1, "0x1"], ["a", "0x1"]] },
    { scan, bundles: [[1, `0x${"f".repeat(9_000)}`]] },
    { scan, bundles: [], count: "9", ms: -4, heights: 1.5 },
    { scan, bundles: [], count: -1, ms: "NaN", heights: null },
  ];
  for (const saved of garbage) {
    const seen = new SeenTabs(scan, saved);
    const { count, ms, heights } = seen;
    assert.deepEqual({ count, ms, heights }, { count: 0, ms: 0, heights: 0 });
    seen.add(1, 0, 0);
    assert.equal(seen.count, 1);
  }
  const kept = new SeenTabs(scan, { scan, bundles: [5, [1, "0x3"]], count: 2, ms: 9, heights: 1 });
  kept.add(1, 1, 0);
  assert.deepEqual(kept.save(), { scan, bundles: [[1, "0x3"]], count: 2, ms: 9, heights: 1 });
});

test("without the number of hosts nothing is said of the wall's length", () => {
  assert.equal(heightText(1, 0), "Half a metre down.");
  assert.equal(heightText(3, 0), "5.5 metres down, as far as a giraffe is high.");
});
