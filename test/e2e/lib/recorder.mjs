// A recording HTTP proxy in front of the daemon: clients talk to it, it keeps every message of both
// directions, event streams included, in the order seen.
//
// Each entry: {from: 'client'|'mcpx', text, channel, status?, headers?}; a channel is one HTTP
// exchange. `session` is the Mcp-Session-Id in force, `version` the MCP-Protocol-Version header.
import http from 'node:http';

export class Recorder {
  static async start(target) {
    const recorder = new Recorder(target);
    await new Promise((resolve) => recorder.server.listen(0, '127.0.0.1', resolve));
    recorder.url = `http://127.0.0.1:${recorder.server.address().port}`;
    return recorder;
  }

  constructor(target) {
    this.target = new URL(target);
    this.entries = [];
    this.channels = 0;
    this.server = http.createServer((request, response) => this.#forward(request, response));
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  #forward(request, response) {
    const channel = ++this.channels;
    const common = { channel, path: request.url, version: request.headers['mcp-protocol-version'],
      session: request.headers['mcp-session-id'] };
    const outgoing = http.request({
      host: this.target.hostname, port: this.target.port, method: request.method, path: request.url,
      headers: { ...request.headers, host: this.target.host },
    }, (incoming) => {
      common.session ??= incoming.headers['mcp-session-id'];
      response.writeHead(incoming.statusCode, incoming.headers);
      response.flushHeaders();
      const note = (text) => {
        if (text !== '') {
          this.entries.push({ from: 'mcpx', text, status: incoming.statusCode, ...common });
        }
      };
      if ((incoming.headers['content-type'] ?? '').startsWith('text/event-stream')) {
        this.#followEvents(incoming, note);
      } else {
        collect(incoming, note);
      }
      incoming.on('data', (chunk) => response.write(chunk));
      incoming.on('end', () => response.end());
      incoming.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    collect(request, (text) => {
      if (text !== '') this.entries.push({ from: 'client', text, ...common });
    });
    request.pipe(outgoing);
  }

  #followEvents(incoming, note) {
    let pending = '';
    const decoder = new TextDecoder();
    incoming.on('data', (chunk) => {
      pending += decoder.decode(chunk, { stream: true });
      for (let match; (match = /\r\n\r\n|\n\n|\r\r/.exec(pending));) {
        const data = pending.slice(0, match.index).split(/\r\n|\n|\r/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).replace(/^ /, ''));
        pending = pending.slice(match.index + match[0].length);
        note(data.join('\n'));
      }
    });
  }
}

function collect(stream, done) {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('end', () => done(Buffer.concat(chunks).toString('utf8')));
}
