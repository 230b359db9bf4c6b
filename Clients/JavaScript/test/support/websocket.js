// SPDX-License-Identifier: Apache-2.0
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";

/** A WebSocket client for tests under Node 20, which has none. Text frames, pings and closing; no extensions. */
export class TestWebSocket {
  onopen = () => {};
  onmessage = () => {};
  onclose = () => {};
  onerror = () => {};
  #socket = null;
  #buffer = Buffer.alloc(0);
  #fragments = [];
  #isClosed = false;

  constructor(url, protocols) {
    const target = new URL(url);
    const key = randomBytes(16).toString("base64");
    const headers = {
      Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Protocol": protocols.join(", "),
    };
    const options = { host: target.hostname, port: target.port, path: target.pathname + target.search, headers };
    const handshake = request({ ...options, agent: false });
    handshake.on("upgrade", (response, socket, head) => {
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      if (response.headers["sec-websocket-accept"] !== accept) return this.#end(1006);
      this.#socket = socket;
      if (this.#isClosed) return socket.destroy();
      socket.on("data", (data) => this.#received(data));
      socket.on("close", () => this.#end(1006));
      socket.on("error", () => this.#end(1006));
      this.onopen();
      if (head.length > 0) this.#received(head);
    });
    handshake.on("response", (response) => {
      response.resume();
      this.#end(1006);
    });
    handshake.on("error", () => this.#end(1006));
    handshake.end();
  }

  send(text) {
    this.#write(1, Buffer.from(text));
  }

  close(code = 1000) {
    if (this.#isClosed) return;
    this.#write(8, Buffer.from([code >> 8, code & 255]));
    this.#socket?.end();
    this.#end(code);
  }

  #end(code) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.destroySoon();
    queueMicrotask(() => this.onclose({ code }));
  }

  #write(opcode, payload) {
    const mask = randomBytes(4);
    const head = Buffer.alloc(payload.length < 126 ? 2 : 10);
    head[0] = 0x80 | opcode;
    head[1] = 0x80 | (payload.length < 126 ? payload.length : 127);
    if (payload.length >= 126) head.writeBigUInt64BE(BigInt(payload.length), 2);
    const masked = Buffer.from(payload.map((byte, index) => byte ^ mask[index % 4]));
    if (this.#socket && !this.#socket.destroyed) this.#socket.write(Buffer.concat([head, mask, masked]));
  }

  #received(data) {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    for (let frame = this.#takeFrame(); frame && !this.#isClosed; frame = this.#takeFrame()) this.#handle(frame);
  }

  #takeFrame() {
    const buffer = this.#buffer;
    if (buffer.length < 2) return null;
    const short = buffer[1] & 127;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (buffer.length < start) return null;
    const length = short === 126 ? buffer.readUInt16BE(2) : short === 127 ? Number(buffer.readBigUInt64BE(2)) : short;
    if (buffer.length < start + length) return null;
    this.#buffer = buffer.subarray(start + length);
    return { isFinal: buffer[0] >= 0x80, opcode: buffer[0] & 15, payload: buffer.subarray(start, start + length) };
  }

  #handle({ isFinal, opcode, payload }) {
    if (opcode === 9) return this.#write(10, payload);
    if (opcode === 8) {
      this.#write(8, payload.subarray(0, 2));
      return this.#end(payload.length >= 2 ? payload.readUInt16BE(0) : 1005);
    }
    if (opcode > 1) return;
    this.#fragments.push(payload);
    if (!isFinal) return;
    const text = Buffer.concat(this.#fragments).toString();
    this.#fragments = [];
    this.onmessage({ data: text });
  }
}
