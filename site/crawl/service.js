// This module sends requests to the service. It repeats none while the service wants a pause
// (Retry-After) or is unreachable, or while this page is hidden.

/** If an unreachable service sends no Retry-After. */
const AWAY_S = 5;

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Problem details (RFC 9457). `status` is 0 if there was no response. */
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

  /** `tell` is called with a repeated request's problem, or with null. */
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

  /** Resolves to the response's JSON. Throws a Problem. */
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
    // Quotas limit submissions, so polling can continue.
    if (isAway || answer.code === "throttled") this.#quietUntil = Date.now() + asked * 1_000;
    throw new Problem(response.status, answer, asked);
  }

  /** Repeats `task` until it returns false or the signal is aborted. */
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
