/**
 * Receives the webhooks of a crawl service: verifies each event, and prints it as a line of JSON.
 *
 *     SECRET=whsec_... node build/webhook.js 127.0.0.1:9000
 *
 * TLS is for a proxy before it. An event may come more than once, under the same id; whoever does
 * something with events keeps the ids of those it has done.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const SECRET = Buffer.from((process.env.SECRET ?? "").replace(/^whsec_/, ""), "base64");
/** Older requests may be copies of one that was overheard. */
const TOLERANCE_S = 300;
const MAX_BYTES = 1 << 20;

/** Returns whether a request was signed with the secret, within the last minutes. */
function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const header = (name: string): string => String(headers[name] ?? "");
  const sentAt = header("webhook-timestamp");
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt || NaN)) <= TOLERANCE_S)) return false;
  const hmac = createHmac("sha256", SECRET);
  hmac.update(`${header("webhook-id")}.${sentAt}.`).update(body);
  const right = Buffer.from(`v1,${hmac.digest("base64")}`);
  // There are two while a secret is changed.
  const given = header("webhook-signature").split(" ").map((one) => Buffer.from(one));
  return given.some((one) => one.length === right.length && timingSafeEqual(one, right));
}

/** Reads the body as it comes, before anything reads it as JSON; null if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Answers 204 to what is genuine, and 401 to anything else. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await bodyOf(request);
  if (body === null) return 413;
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body.toString());
  console.log(JSON.stringify({ id: request.headers["webhook-id"], ...event }));
  return 204;
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status, { Connection: "close" }).end(),
    // The sender hung up in the middle, and sends it again.
    () => response.destroy(),
  );
});
const [, host, port] = /^(.*):(\d+)$/.exec(process.argv[2]) ?? [];
server.listen(Number(port), host, () => {
  const { address, port } = server.address() as AddressInfo;
  console.error(`listening on ${address}:${port}`);
});
