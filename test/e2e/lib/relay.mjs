// A plain HTTP proxy in front of the daemon, for clients in processes of their own: the wiretap hears
// what passes here. Bodies and event streams go through as they come, `Host` as the client gave it unless
// it names the proxy.
import http from 'node:http';

import { ignore } from './wiretap.mjs';

export class Relay {
  static async start(target) {
    const relay = new Relay(target);
    await new Promise((resolve) => relay.server.listen(0, '127.0.0.1', resolve));
    const { port } = relay.server.address();
    ignore(port);
    relay.host = `127.0.0.1:${port}`;
    relay.url = `http://${relay.host}`;
    return relay;
  }

  constructor(target) {
    this.target = new URL(target);
    this.server = http.createServer((request, response) => this.#forward(request, response));
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  #forward(request, response) {
    const host = request.headers.host === this.host ? this.target.host : request.headers.host;
    const outgoing = http.request({ host: this.target.hostname, port: this.target.port, agent: false,
      method: request.method, path: request.url, headers: { ...request.headers, host } }, (incoming) => {
      response.writeHead(incoming.statusCode, incoming.headers);
      response.flushHeaders();
      incoming.on('error', () => response.destroy());
      incoming.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    request.pipe(outgoing);
  }
}
