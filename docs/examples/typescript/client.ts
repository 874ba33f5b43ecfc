/**
 * Requests to a crawl service, by fetch. The other programs of this folder import this one.
 *
 * The environment names the service and the key: API=http://127.0.0.1:8088 KEY=et_..._...
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const { API, KEY } = process.env;
const TRIES = 5;
/** A quota of the day may be used up for hours: a person should hear of that. */
const PATIENCE_S = 120;
/** A request waits for up to 60 seconds. */
const TIMEOUT_MS = 90_000;

/** A refusal of the service: `code` is one of the list in docs/api.md. */
export class Problem extends Error {
  constructor(readonly code: string, detail: string) {
    super(`${code}: ${detail}`);
  }
}

/**
 * Sends a request, comes again when the service says so, and returns the JSON of the answer.
 * Throws a Problem if the service refuses it.
 */
export async function call<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const headers = {
    Authorization: `Bearer ${KEY}`,
    "Content-Type": "application/json",
    // A POST whose answer was lost is performed once: the service knows the key.
    "Idempotency-Key": randomUUID(),
  };
  for (let tries = 1; ; tries++) {
    let answer: Response;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      answer = await fetch(API + path, { method, headers, body: JSON.stringify(body), signal });
    } catch (error) {
      // The service or the way to it is away: it may be starting again.
      if (tries === TRIES) throw error;
      await sleep(2_000);
      continue;
    }
    if (answer.ok) return (await answer.json()) as T;
    // 429 and 503 say when it helps to come again.
    const pauseS = Number(answer.headers.get("Retry-After") ?? Infinity);
    if (tries === TRIES || !(pauseS <= PATIENCE_S)) throw await problemOf(answer);
    await answer.body?.cancel();
    await sleep(pauseS * 1_000);
  }
}

/** Between the service and us may be a proxy, which answers anything. */
async function problemOf(answer: Response): Promise<Error> {
  if (answer.headers.get("Content-Type") !== "application/problem+json") {
    return new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
  }
  const problem = (await answer.json()) as { code: string; title: string; detail?: string };
  return new Problem(problem.code, problem.detail ?? problem.title);
}

/** Ends the program: a refusal in one line, anything else with its stack. */
export function fail(error: unknown): void {
  console.error(error instanceof Problem ? error.message : error);
  process.exitCode = 1;
}
