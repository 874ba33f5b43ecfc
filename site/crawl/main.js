// This module runs the page. It stores the key in this tab's sessionStorage, and never puts it into
// a URL.

import { Seen, showCrawl } from "./crawl.js";
import { byId, fill, make, setText, show } from "./document.js";
import { showFeed } from "./feed.js";
import { showOverview } from "./scans.js";
import { Problem, Service } from "./service.js";
import { count, day, problemWords, spoken } from "./words.js";

const STORED = "everytab-key";
const KEY = /^et_[a-z2-7]{12}_[a-z2-7]{52}$/;
const POLL_MS = 3_000;
const HOSTS_MS = 6_000;
/** A person does not look through more crawls or hosts. */
const [CRAWLS, HOSTS] = [50, 100];

let service = null;
let crawls = [];
let workers = null;
let seen = null;
let shown = new AbortController();

const notice = (text, isBad) => setText("notice", text, isBad);
const crawlOf = (id) => crawls.find((crawl) => crawl.id === id);

function words(error, again = "Try again in") {
  if (error instanceof Problem) return problemWords(error, again);
  throw error;
}

function tell(problem) {
  if (problem?.status === 401) leave(words(problem), true);
  else if (problem) notice(words(problem, "Asking again in"), true);
  else notice(service.isLive ? "Live" : "Updates are off");
}

function showParts(isKeyed) {
  for (const part of document.querySelectorAll(".keyed")) part.hidden = !isKeyed;
  show("asking", !isKeyed);
  if (!isKeyed) byId("key").focus();
}

function leave(text, isBad) {
  sessionStorage.removeItem(STORED);
  service?.stop();
  shown.abort();
  [service, crawls, seen] = [null, [], null];
  for (const id of ["crawls", "scans"]) fill(id, [], make);
  for (const id of ["one-said", "start-said"]) setText(id, "");
  show("shown", false);
  showParts(false);
  notice(text, isBad);
}

/** The service must accept the key. */
async function enter(key) {
  notice("Asking the service…");
  try {
    await new Service(key).ask("/v1/settings");
  } catch (error) {
    return notice(words(error), true);
  }
  sessionStorage.setItem(STORED, key);
  byId("key").value = "";
  begin(key);
}

function begin(key) {
  service = new Service(key, tell);
  byId("live").ariaPressed = "true";
  showParts(true);
  service.repeat(POLL_MS, service.signal, list);
  service.repeat(POLL_MS, service.signal, overview);
}

async function list() {
  ({ crawls } = await service.ask(`/v1/crawls?limit=${CRAWLS}`));
  select();
}

async function overview() {
  const asked = seen;
  const isOpen = asked && crawlOf(asked.id)?.state !== "ended";
  const answer = await service.ask(`/v1/overview${isOpen ? `?crawl=${asked.id}` : ""}`);
  workers = answer.live_workers;
  if (asked) asked.pace = answer.pace ?? null;
  showOverview(answer);
}

/** Without a hash, the newest crawl is shown. */
function select() {
  const crawl = crawlOf(location.hash.slice(1)) ?? crawls[0];
  const { hash } = document.activeElement;
  fill("crawls", crawls.map(({ id, name, state, captured, known, started_at: at }) => [
    id === crawl.id, id, name, state, `${day(at)} · ${count(captured)} of ${count(known)}`,
  ]), ([isShown, id, name, state, about]) => {
    const badge = make("b", `state ${state}`, state);
    const link = make("a", "", name, make("div", "soft", badge, about));
    link.href = `#${id}`;
    if (isShown) link.ariaCurrent = "true";
    return make("li", "", link);
  });
  if (hash) document.querySelector(`#crawls [href="${CSS.escape(hash)}"]`)?.focus();
  show("no-crawls", !crawl);
  if (!crawl) return;
  if (seen?.id !== crawl.id) follow(crawl.id);
  showCrawl(crawl, seen, workers);
}

function follow(id) {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const mine = new Seen(id);
  seen = mine;
  // The next request reports any error.
  overview().catch(() => {});
  showFeed(service, id, signal);
  service.repeat(HOSTS_MS, signal, async () => {
    if (crawlOf(id)?.state === "ended") return false;
    ({ hosts: mine.hosts } = await service.ask(`/v1/crawls/${id}/hosts?limit=${HOSTS}`,
      { signal }));
    select();
  });
}

/**
 * Runs a button's action. The button is disabled until the action ends. Errors are passed to `say`.
 */
async function act(button, say, action) {
  button.disabled = true;
  try {
    await action();
  } catch (error) {
    if (service) say(words(error), true);
  }
  button.disabled = false;
}

function move(button, verb) {
  const { id } = seen;
  return act(button, notice, async () => {
    await service.ask(`/v1/crawls/${id}/${verb}`, { method: "POST" });
    await list();
    byId("resume").focus();
    byId("pause").focus();
  });
}

function onSubmit(form, said, action) {
  byId(form).addEventListener("submit", (event) => {
    event.preventDefault();
    const say = (text, isBad) => setText(said, text, isBad);
    act(byId(form).querySelector("button"), say, () => action(say));
  });
}

onSubmit("key-form", "notice", (say) => {
  const key = byId("key").value.trim();
  if (KEY.test(key)) return enter(key);
  return say("This is no key: a key is et_, 12 characters, _ and 52 characters.", true);
});

onSubmit("one-form", "one-said", async (say) => {
  let one = await service.ask("/v1/url", { body: { url: byId("one-url").value.trim() } });
  const { url, id, crawl } = one;
  say(`It will be fetched: ${url}`);
  location.hash = crawl;
  await list();
  while (one.state === "due") one = await service.ask(`/v1/url/${id}?wait=30`);
  say(`It is ${one.state} (${spoken(one.outcome ?? one.reason)}): ${url}`,
    one.state !== "captured");
});

// If a request fails and is sent again with this key, the service does not start a second crawl.
let idempotency = "";
byId("start-form").addEventListener("input", () => { idempotency = ""; });
onSubmit("start-form", "start-said", async (say) => {
  // crypto.randomUUID exists only on https pages.
  idempotency ||= crypto.getRandomValues(new Uint32Array(4)).join("-");
  const number = (id) => Number(byId(id).value);
  const { id, accepted, refused } = await service.ask("/v1/crawls", {
    headers: { "idempotency-key": idempotency },
    body: {
      urls: byId("urls").value.split("\n").map((line) => line.trim()).filter(Boolean),
      settings: {
        scope: byId("scope").value, depth: number("depth"), limit: number("limit"),
        delay_ms: Math.round(number("delay") * 1_000),
      },
    },
  });
  byId("start-form").reset();
  idempotency = "";
  say(`URLs accepted: ${count(accepted.length)}. ` + refused.slice(0, 3)
    .map(({ line, detail }) => `Not URL ${line}: ${detail}.`).join(" "), refused.length > 0);
  location.hash = id;
  await list();
});

for (const verb of ["pause", "resume"]) {
  byId(verb).addEventListener("click", ({ target }) => move(target, verb));
}
byId("cancel").addEventListener("click", ({ target }) => {
  const question = "End this crawl? What it captured stays; what is pending is not fetched.";
  if (confirm(question)) move(target, "cancel");
});
byId("forget").addEventListener("click", () => leave("The key is forgotten."));
byId("live").addEventListener("click", ({ target }) => {
  service.isLive = target.ariaPressed !== "true";
  target.ariaPressed = service.isLive;
  tell(null);
});
window.addEventListener("hashchange", () => { if (service) select(); });

const stored = sessionStorage.getItem(STORED);
if (stored) begin(stored);
else showParts(false);
