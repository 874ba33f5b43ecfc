import assert from "node:assert/strict";
import test from "node:test";
import { restoreStream, saveStream } from "../js/saved-stream.js";
import { partOfTab, shuffledOrder, TabStream } from "../js/stream.js";

function streamOf(sizes, { answer = () => null, ...options } = {}) {
  const asked = [];
  const askedAgain = [];
  const stream = new TabStream({
    order: shuffledOrder(5, sizes.length),
    fetchTabs: async (number, again) => {
      (again ? askedAgain : asked).push(number);
      // Later bundles are answered first, which may happen on a network.
      await new Promise((resolve) => setTimeout(resolve, number % 3));
      const tabs = Array.from({ length: sizes[number] }, (_, slot) => `${number}/${slot}`);
      return answer(number) ?? { tabs };
    },
    onChange: () => {},
    ...options,
  });
  return { stream, asked, askedAgain };
}

function drawn(count) {
  const order = shuffledOrder(5, count);
  return Array.from({ length: count }, () => order.next());
}

test("tabs stand in the order in which their bundles were drawn", async () => {
  const sizes = [3, 0, 2, 5, 1, 0, 4];
  const { stream } = streamOf(sizes);
  await stream.fillTo(1_000);
  const expected = drawn(sizes.length).flatMap((number) =>
    Array.from({ length: sizes[number] }, (_, slot) => `${number}/${slot}`));
  assert.equal(stream.total, 15);
  assert.ok(stream.ended);
  assert.deepEqual(Array.from({ length: 15 }, (_, i) => stream.at(i)), expected);
  assert.equal(stream.at(15), undefined);
  assert.equal(stream.at(-1), undefined);
});

test("no more bundles are asked for than the view needs and a few in flight", async () => {
  const { stream, asked } = streamOf(new Array(500).fill(100), { tabsABundle: 100 });
  await stream.fillTo(1_000);
  assert.ok(stream.total >= 1_000 && stream.total <= 1_400, `${stream.total}`);
  assert.equal(asked.length, stream.total / 100);
  assert.ok(!stream.ended);
});

test("a wish that comes while loading is heard", async () => {
  const { stream } = streamOf(new Array(50).fill(10), { tabsABundle: 10 });
  const first = stream.fillTo(20);
  await stream.fillTo(300);
  await first;
  assert.ok(stream.total >= 300);
});

test("an empty scan ends at once", async () => {
  const { stream, asked } = streamOf([]);
  await stream.fillTo(100);
  assert.ok(stream.ended);
  assert.equal(stream.total, 0);
  assert.deepEqual(asked, []);
});

test("a missing bundle is set aside and comes at the end when tried again", async () => {
  let missing = true;
  const [, second] = drawn(4);
  const { stream, askedAgain } = streamOf([2, 2, 2, 2], {
    answer: (number) => (missing && number === second ? { trouble: "missing" } : null),
  });
  await stream.fillTo(100);
  assert.equal(stream.total, 6);
  assert.deepEqual(stream.skipped, [second]);
  assert.equal(stream.trouble, "");
  assert.ok(stream.ended);
  missing = false;
  await stream.resume();
  assert.equal(stream.total, 8);
  assert.equal(stream.at(6), `${second}/0`);
  assert.deepEqual(stream.skipped, []);
  assert.deepEqual(askedAgain, [second], "past any stored copy, and that one alone");
});

test("a silent network stops the line, and it goes on in the same order", async () => {
  let down = false;
  const { stream } = streamOf(new Array(40).fill(1), {
    tabsABundle: 1,
    answer: () => (down ? { trouble: "network" } : null),
  });
  await stream.fillTo(10);
  const before = stream.total;
  down = true;
  await stream.fillTo(40);
  assert.equal(stream.trouble, "network");
  assert.equal(stream.total, before);
  assert.ok(!stream.ended);
  await stream.fillTo(40);
  assert.equal(stream.total, before);
  down = false;
  await stream.resume();
  await stream.fillTo(40);
  const all = Array.from({ length: 40 }, (_, i) => stream.at(i));
  assert.deepEqual(all, drawn(40).map((number) => `${number}/0`));
});

test("a scan that is gone is not searched to its end", async () => {
  const { stream, asked } = streamOf(new Array(1_000).fill(1), {
    answer: () => ({ trouble: "missing" }),
  });
  await stream.fillTo(5_000);
  assert.equal(stream.trouble, "missing");
  assert.ok(asked.length < 20, `${asked.length}`);
});

test("tabs held stay bounded, and dropped ones come back as they were", async () => {
  const { stream } = streamOf(new Array(100).fill(50), { tabsABundle: 50, maxHeldTabs: 500 });
  await stream.fillTo(5_000);
  assert.ok(stream.heldTabs <= 500);
  assert.equal(stream.total, 5_000);
  const [first] = drawn(100);
  assert.equal(stream.at(3), undefined);
  await new Promise((resolve) => {
    stream.onChange = resolve;
  });
  assert.equal(stream.at(3), `${first}/3`);
  assert.ok(stream.heldTabs <= 500);
});

test("a dropped tab whose bundle is gone is null, and is asked for once", async () => {
  let isGone = false;
  const { stream, asked } = streamOf(new Array(100).fill(50), {
    tabsABundle: 50, maxHeldTabs: 500, answer: () => (isGone ? { trouble: "missing" } : null),
  });
  await stream.fillTo(5_000);
  isGone = true;
  assert.equal(stream.at(3), undefined, "it is being loaded");
  await new Promise((resolve) => {
    stream.onChange = resolve;
  });
  const before = asked.length;
  assert.equal(stream.at(3), null);
  assert.equal(stream.at(49), null);
  assert.equal(asked.length, before);
  assert.equal(stream.trouble, "", "the other tabs are there");
});

test("a tab that is looked at keeps its bundle from being dropped", async () => {
  const { stream } = streamOf(new Array(30).fill(10), { tabsABundle: 10, maxHeldTabs: 100 });
  await stream.fillTo(10);
  for (let wanted = 20; wanted <= 300; wanted += 10) {
    await stream.fillTo(wanted);
    assert.ok(stream.at(0) !== undefined, `after ${wanted}`);
  }
});

test("a closed line calls nobody", async () => {
  let calls = 0;
  const { stream } = streamOf([1, 1, 1], { onChange: () => (calls += 1) });
  const filled = stream.fillTo(3);
  stream.close();
  await filled;
  assert.equal(calls, 0);
});

test("the part of a tab is found by its start", () => {
  const parts = [{ start: 0 }, { start: 4 }, { start: 5 }, { start: 90 }];
  const expected = [[0, 0], [3, 0], [4, 1], [5, 2], [89, 2], [90, 3], [500, 3]];
  for (const [tab, part] of expected) assert.equal(partOfTab(parts, tab), part);
});

test("an earlier stream's bundles are numbered as before, loaded when seen", async () => {
  const sizes = [3, 0, 2, 5, 1, 0, 4, 6];
  const answer = (number) => (number === 4 ? { trouble: "broken" } : null);
  const late = streamOf(sizes, { answer });
  await late.stream.fillTo(12);
  const { stream, asked } = streamOf(sizes);
  restoreStream(stream, structuredClone(saveStream(late.stream)));
  assert.equal(stream.total, late.stream.total);
  assert.deepEqual(asked, []);
  const index = stream.total - 1;
  assert.equal(stream.at(index), undefined);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(stream.at(index), late.stream.at(index));
  assert.equal(asked.length, 1);
  await stream.fillTo(1_000);
  assert.ok(stream.ended);
  assert.equal(stream.total, 21, "the bundle that was broken is there now");
});
