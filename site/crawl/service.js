// Owns requests to the service: the key, problems, and when to ask again.
// Invariant: while the service asks for a pause (Retry-After) or is away nothing is repeated, nor
// while nobody looks at the page. Must not know: what answers mean.

/** Where the service does not say how long it is away. */
const AWAY_S = 5;

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** What was refused, as RFC 9457 has it; `status` is 0 where there was no answer. */
export class Problem extends Error {
  constructor(status, problem, retryAfterS) {
    super(problem.code ?? status);
    Object.assign(this, problem, { status, retryAfterS });
  }
}

export class Service {
  isLive = true;
  #key;
  #quietUntil = 0;
  #stop = new AbortController();

  /** `tell` is told of the problem of a repeated request; of null when there is none. */
  constructor(key, tell) {
    this.#key = key;
    this.tell = tell;
  }

  get signal() {
    return this.#stop.signal;
  }

  stop() {
    this.#stop.abort();
  }

  /** The answer to one request. Throws a Problem. */
  async ask(path, { body, method = body ? "POST" : "GET", headers, signal = this.signal } = {}) {
    let response = { status: 0 };
    let answer = {};
    try {
      response = await fetch(path, {
        method, signal, credentials: "omit", redirect: "error",
        body: body && JSON.stringify(body),
        headers: {
          authorization: `Bearer ${this.#key}`, "content-type": "application/json", ...headers,
        },
      });
      answer = await response.json();
    } catch {
      signal.throwIfAborted();
      if (response.ok) response = { status: 0 };
    }
    if (response.ok) return answer;
    const isAway = response.status === 0 || response.status >= 500;
    const asked = Number(response.headers?.get("retry-after")) || (isAway ? AWAY_S : undefined);
    // Quotas are of what is submitted: one may look on.
    if (isAway || answer.code === "throttled") this.#quietUntil = Date.now() + asked * 1_000;
    throw new Problem(response.status, answer, asked);
  }

  /** Performs a task every so many milliseconds, until it returns false or the signal. */
  async repeat(everyMs, signal, task) {
    while (!signal.aborted) {
      if (document.hidden || !this.isLive || Date.now() < this.#quietUntil) {
        await sleep(200);
        continue;
      }
      try {
        if (await task() === false) return;
        if (!signal.aborted) this.tell(null);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        this.tell(error);
      }
      await sleep(everyMs);
    }
  }
}
