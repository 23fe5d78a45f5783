// HTTP/1.1 on a bare socket, so that a test can send any bytes, in any pieces, and end as it likes.
import net from 'node:net';

// Accepts connections and reads requests off them, one after the other: `serve({connection, method,
// target, version, headers, text})` is awaited before the next one is read. Headers are lower case.
export class RawHttpServer {
  constructor(serve) {
    this.serve = serve;
    this.connections = new Set();
    this.accepted = 0;
  }

  async listen(port = 0) {
    this.server = net.createServer((socket) => this.#accept(socket));
    await new Promise((resolve, reject) => {
      this.server.on('error', reject).listen(port, '127.0.0.1', resolve);
    });
    this.port = this.server.address().port;
  }

  // Takes no more connections; those there are end as `how` says: 'reset' | 'close' | 'stay'.
  async close(how = 'reset') {
    const closed = new Promise((resolve) => this.server.close(resolve));
    if (how === 'stay') return;
    for (const connection of this.connections) how === 'reset' ? connection.reset() : connection.end();
    await closed;
  }

  async #accept(socket) {
    const connection = new Connection(socket, ++this.accepted);
    this.connections.add(connection);
    socket.on('close', () => this.connections.delete(connection));
    for (let request; (request = await connection.next()) !== null;) await this.serve(request);
  }
}

class Connection {
  #bytes = Buffer.alloc(0);
  #more = () => {};
  ended = false;

  constructor(socket, number) {
    this.socket = socket;
    this.number = number;
    this.gone = new Promise((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#more();
    });
    socket.on('end', () => { this.ended = true; this.#more(); socket.end(); });
    socket.on('close', () => { this.ended = true; this.#more(); });
  }

  get open() { return !this.socket.destroyed && this.socket.writable; }

  // Resolves when the bytes are with the system, or the peer is gone.
  write(bytes) {
    if (!this.open) return Promise.resolve();
    return new Promise((resolve) => {
      this.socket.write(bytes, () => resolve());
      this.gone.then(resolve);
    });
  }
  end() { this.socket.end(); }
  // A socket that is already saying goodbye cannot be reset; node would keep it for ever.
  reset() { this.socket.writableEnded ? this.socket.destroy() : this.socket.resetAndDestroy(); }

  async next() {
    const head = await this.#until(() => {
      const at = this.#bytes.indexOf('\r\n\r\n');
      return at < 0 ? undefined : this.#take(at + 4).toString('latin1');
    });
    if (head === null) return null;
    const [first, ...lines] = head.trimEnd().split('\r\n');
    const [method, target, version] = first.split(' ');
    const headers = {};
    for (const line of lines) {
      const at = line.indexOf(':');
      const name = line.slice(0, at).toLowerCase();
      const value = line.slice(at + 1).trim();
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    }
    const body = headers['transfer-encoding'] === 'chunked' ? await this.#chunked()
      : await this.#exactly(Number(headers['content-length'] ?? 0));
    if (body === null) return null;
    return { connection: this, method, target, version, headers, text: body.toString('utf8') };
  }

  async #chunked() {
    const parts = [];
    for (;;) {
      const line = await this.#until(() => {
        const at = this.#bytes.indexOf('\r\n');
        return at < 0 ? undefined : this.#take(at + 2).toString('latin1');
      });
      if (line === null) return null;
      const size = Number.parseInt(line, 16);
      const data = await this.#exactly(size + 2);
      if (data === null) return null;
      if (size === 0) return Buffer.concat(parts);
      parts.push(data.subarray(0, size));
    }
  }

  #exactly(size) {
    return this.#until(() => (this.#bytes.length < size ? undefined : this.#take(size)));
  }
  #take(size) {
    const taken = this.#bytes.subarray(0, size);
    this.#bytes = this.#bytes.subarray(size);
    return taken;
  }
  async #until(probe) {
    for (;;) {
      const found = probe();
      if (found !== undefined) return found;
      if (this.ended) return null;
      await new Promise((resolve) => { this.#more = resolve; });
    }
  }
}

// A whole reply as bytes. The body is counted, unless `chunked`; a header of null is left out.
export function replyBytes({ status = 200, reason = 'X', headers = {}, body = '', chunked = false }) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const all = { ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': bytes.length }),
    ...headers };
  const head = Object.entries(all).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const start = Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${head}\r\n`, 'latin1');
  return Buffer.concat([start, chunked ? chunk(bytes) : bytes, Buffer.from(chunked ? '0\r\n\r\n' : '')]);
}
export function chunk(data) {
  const bytes = Buffer.isBuffer(data) ? data : Buffer.from(data);
  if (bytes.length === 0) return bytes;
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

// How bytes reach the peer, each member optional: the first `upTo` of them (a share of all when below
// 1), in pieces of `pieces` bytes with `every` ms between them, and `then` 'stay' (default) | 'close' |
// 'reset' | 'stall' (the connection stays open and says nothing more).
export async function deliver(connection, bytes, { upTo, pieces, every = 1, then = 'stay' } = {}) {
  const end = upTo === undefined ? bytes.length : upTo < 1 ? Math.floor(bytes.length * upTo) : upTo;
  const sent = bytes.subarray(0, end);
  for (let at = 0; at < sent.length && connection.open; at += pieces ?? sent.length) {
    if (at > 0 && every > 0) await new Promise((resolve) => { setTimeout(resolve, every).unref(); });
    await connection.write(sent.subarray(at, at + (pieces ?? sent.length)));
  }
  if (then === 'close') connection.end();
  if (then === 'reset') connection.reset();
  if (then === 'stall') await connection.gone;
}
