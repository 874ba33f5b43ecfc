// A WebSocket client (RFC 6455) for tests: text messages, on loopback, without extensions.

import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

export async function openWebSocket({ host, port, path }, onText, onEnd) {
  const key = randomBytes(16).toString("base64");
  const socket = connect(port, host);
  const reader = new FrameReader((code, payload) => {
    if (code === TEXT) onText(payload.toString("utf8"));
    else if (code === PING) socket.write(frame(PONG, payload));
    else if (code === CLOSE) socket.end(frame(CLOSE, payload));
  });
  await new Promise((resolve, reject) => {
    let head = "";
    const read = (bytes) => {
      head += bytes.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", read);
      const accept = createHash("sha1").update(key + GUID).digest("base64");
      if (!/^HTTP\/1\.1 101 /.test(head) || !head.includes(accept)) {
        reject(new Error(`no WebSocket: ${head.slice(0, end)}`));
        return;
      }
      socket.on("data", (more) => reader.add(more));
      reader.add(Buffer.from(head.slice(end + 4), "latin1"));
      resolve();
    };
    socket.on("data", read);
    socket.once("error", reject);
    socket.once("close", () => {
      reject(new Error("the connection was closed"));
      onEnd();
    });
    socket.write([
      `GET ${path} HTTP/1.1`, `Host: ${host}:${port}`, "Upgrade: websocket", "Connection: Upgrade",
      `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13", "", "",
    ].join("\r\n"));
  });
  socket.on("error", () => {});
  return {
    send: (text) => socket.write(frame(TEXT, Buffer.from(text))),
    close: () => socket.destroy(),
  };
}

/** A client frame's payload must be masked. */
function frame(code, payload) {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | code;
  head[1] = 0x80 | (head.length === 2 ? length : head.length === 4 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ mask[at % 4])]);
}

class FrameReader {
  #rest = Buffer.alloc(0);
  #parts = [];
  #onMessage;

  constructor(onMessage) {
    this.#onMessage = onMessage;
  }

  add(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 2) {
      const [first, second] = this.#rest;
      const short = second & 0x7f;
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#rest.length < start) return;
      const length = start === 2 ? short
        : start === 4 ? this.#rest.readUInt16BE(2) : Number(this.#rest.readBigUInt64BE(2));
      if (this.#rest.length < start + length) return;
      const payload = this.#rest.subarray(start, start + length);
      this.#rest = this.#rest.subarray(start + length);
      this.#take(first & 0x0f, (first & 0x80) !== 0, payload);
    }
  }

  #take(code, isLast, payload) {
    if (code >= CLOSE) {
      this.#onMessage(code, payload);
      return;
    }
    if (code !== CONTINUATION) this.#parts = [];
    this.#parts.push(payload);
    if (isLast) this.#onMessage(TEXT, Buffer.concat(this.#parts));
  }
}
