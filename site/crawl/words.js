// This module phrases numbers, times, outcomes and problems.

const SHORT_S = 1.5;

export const count = (number) => Math.round(number).toLocaleString("en");

/** Pages per second: "0.03", "2.4", "1,234". */
export const rate = (number) => number >= 100 ? count(number)
  : number.toLocaleString("en", { maximumSignificantDigits: 2 });

/** Formats a size: "3.4 MB". */
export function bytes(number) {
  const power = Math.min(Math.floor(Math.log10(Math.max(number, 1)) / 3), 4);
  const amount = (number / 1_000 ** power).toLocaleString("en", { maximumSignificantDigits: 3 });
  return `${amount} ${["bytes", "KB", "MB", "GB", "TB"][power]}`;
}

/** Formats a duration: "12 s", "4 min", "3 h 20 min", "3 days". */
export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.round(minutes / 1_440)} days`;
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
export const day = (at) => new Date(at).toLocaleString("en-GB",
  { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Converts "robots_disallowed" to "robots disallowed". */
export const spoken = (name = "") => name.replace("http_", "HTTP ").replaceAll("_", " ");

export const sumOf = (counts) => Object.values(counts).reduce((sum, number) => sum + number, 0);

function pauseOf({ origin, outcome, since, until }, now) {
  const time = (at) => duration(Math.abs(Date.parse(at) - now) / 1e3);
  return `${origin}: ${spoken(outcome)} for ${time(since)}; next in ${time(until)}`;
}

export function whyItWaits(host, now) {
  const waits = (Math.max(Date.parse(host.free_at), Date.parse(host.next_due)) - now) / 1_000;
  const again = waits > SHORT_S ? `; asked again in ${duration(waits)}` : "";
  const asked = host.crawl_delay_ms / 1_000;
  const paused = (host.origins ?? []).filter(({ until }) => Date.parse(until) > now);
  if (paused.length > 0) return paused.map((origin) => pauseOf(origin, now)).join("; ");
  if (host.delay_ms > 0) return `it asked for fewer requests (429 or 503)${again}`;
  if (asked > 0) return `its robots.txt asks for ${duration(asked)} between requests${again}`;
  if (again) return `nothing is due yet${again}`;
  const took = host.response_ms / 1_000;
  return took > SHORT_S ? `it takes ${duration(took)} to answer` : "its delay, page after page";
}

/**
 * Returns null if this cannot be estimated. One slow host's delays may take longer than all other
 * hosts together.
 */
export function secondsLeft({ state, pending, budget_left: most = pending }, pages, pace) {
  if (state !== "running") return null;
  const left = Math.max(pages > 0 && Math.min(pending, most) / pages,
    most < pending ? 0 : pace?.seconds_left ?? 0);
  return left || null;
}

/** `again` starts the sentence about when to retry. */
export function problemWords({ status, title, detail, errors, retryAfterS }, again) {
  if (status === 401) return "The service does not know this key. It may be mistyped, or revoked.";
  const said = title ?? (status ? `The service failed (${status})` : "The service is away");
  const why = detail ?? errors?.[0]?.detail;
  return `${said}${why ? `: ${why}` : ""}.` +
    (retryAfterS ? ` ${again} ${duration(retryAfterS)}.` : "");
}
