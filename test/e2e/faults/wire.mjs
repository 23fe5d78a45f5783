// HTTP/1.1 as the callers of the fault harness speak it: one keep-alive connection each, answers read
// by hand, because a library would hide what is looked for here: a second answer, bytes after the
// last one, an answer that is cut short.
import net from 'node:net';

export class Broken extends Error {}

export class Connection {
  static async open(port) {
    const connection = new Connection();
    const socket = connection.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    connection.chunks = [];
    connection.size = 0;
    socket.on('data', (chunk) => {
      connection.chunks.push(chunk);
      connection.size += chunk.length;
      connection.wake?.();
    });
    socket.on('error', (error) => { connection.ended ??= error.message; connection.wake?.(); });
    socket.on('close', () => { connection.ended ??= 'closed'; connection.wake?.(); });
    await new Promise((resolve, reject) => socket.on('connect', resolve).on('error', reject));
    return connection;
  }

  get usable() { return this.ended === undefined; }
  // Bytes that no request asked for.
  get surplus() { return this.size; }

  send(text) { this.socket.write(text); }
  // The way of a client that crashed.
  vanish() { this.ended ??= 'vanished'; this.socket.resetAndDestroy(); }
  close() { this.ended ??= 'closed'; this.socket.destroy(); }

  // One whole answer: {status, headers, text}.
  async receive(milliseconds) {
    const end = Date.now() + milliseconds;
    const head = await this.#through('\r\n\r\n', end);
    const [first, ...lines] = head.split('\r\n');
    const headers = Object.fromEntries(lines.filter(Boolean).map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }));
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    if (!status) throw new Broken(`not a status line: ${first}`);
    const parts = [];
    if (headers['transfer-encoding'] === 'chunked') {
      for (let size; size !== 0;) {
        size = Number.parseInt(await this.#through('\r\n', end), 16);
        if (!(size >= 0)) throw new Broken('not a chunk');
        parts.push(await this.#bytes(size, end));
        if ((await this.#bytes(2, end)).toString() !== '\r\n') throw new Broken('not the end of a chunk');
      }
    } else if (headers['content-length'] !== undefined) {
      parts.push(await this.#bytes(Number(headers['content-length']), end));
    } else if (status !== 204) {
      throw new Broken('neither a length nor chunks');
    }
    if (headers.connection === 'close') this.close();
    return { status, headers, text: Buffer.concat(parts).toString('utf8') };
  }

  // Waits until something came for the request that is out.
  async started(milliseconds) {
    const end = Date.now() + milliseconds;
    while (this.size === 0) await this.#more(end);
  }

  #whole() {
    if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0] ?? Buffer.alloc(0);
  }
  #take(count) {
    const whole = this.#whole();
    this.chunks = [whole.subarray(count)];
    this.size -= count;
    return whole.subarray(0, count);
  }
  async #through(mark, end) {
    for (let at; ; await this.#more(end)) {
      if ((at = this.#whole().indexOf(mark)) < 0) continue;
      return this.#take(at + mark.length).subarray(0, at).toString('latin1');
    }
  }
  async #bytes(count, end) {
    while (this.size < count) await this.#more(end);
    return this.#take(count);
  }
  async #more(end) {
    if (this.ended !== undefined) throw new Broken(`no whole answer: ${this.ended}`);
    let timer;
    await new Promise((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, Math.max(0, end - Date.now()));
    });
    clearTimeout(timer);
    if (Date.now() >= end) throw new Broken('no whole answer in time');
  }
}

export function requestText(method, target, port, headers, body = '') {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers,
    'content-length': Buffer.byteLength(body) }).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
