// HTTP+SSE of 2024-11-05, as upstreams/http.mjs speaks it when told to: a GET stream that carries every
// answer, and an address of its own for what is posted. The stream is the session.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { frame, ownError, progress } from './mcp.mjs';

const event = (text) => `event: message\ndata: ${text}\n\n`;

const faults = {
  'exit': () => process.exit(7),
  'never': () => {},
  'late': async ({ stream, line, args }) => { await pause(args.wait); stream.write(event(line)); },
  'cut': ({ stream }) => stream.end(),
  'reset': ({ stream }) => stream.socket?.resetAndDestroy(),
  'half an event': ({ stream, line }) => stream.end(event(line).slice(0, line.length >> 1)),
  'garbage': ({ stream, line }) => stream.write(event('{"half":') + event('not json') + event(line)),
  'wrong id': ({ stream, id, answer }) => stream.write(event(frame(id + 1_000_000_000, answer))),
  'twice': ({ stream, line }) => stream.write(event(line) + event(line)),
  'error': ({ stream, id, args }) => stream.write(event(frame(id, ownError(args.nonce)))),
};

export class SseWire {
  constructor(echo, open) {
    Object.assign(this, { echo, open, streams: new Map() });
  }

  async serve(request, response, text) {
    const session = new URL(request.url, 'http://localhost').searchParams.get('session');
    if (request.method === 'GET') return this.#stream(response);
    const stream = this.streams.get(session);
    if (request.method !== 'POST' || !stream) return response.writeHead(404).end();
    const { id, method, params } = JSON.parse(text);
    const args = params?.arguments ?? {};
    const answer = id === undefined ? undefined : this.echo.answer(method, params);
    if (args.fault === 'status 500') return response.writeHead(500).end('boom');
    response.writeHead(202).end();
    if (id === undefined) return;
    const line = frame(id, answer);
    if (args.fault) return faults[args.fault]({ stream, id, line, answer, args });
    const token = params?._meta?.progressToken;
    if (token !== undefined) for (const done of [1, 2]) stream.write(event(progress(token, done)));
    if (args.wait) await pause(args.wait);
    stream.write(event(line));
  }

  #stream(response) {
    const session = randomUUID();
    this.streams.set(session, response);
    this.open.add(response);
    response.on('error', () => {}).on('close', () => {
      this.streams.delete(session);
      this.open.delete(response);
    });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(`event: endpoint\ndata: /mcp/messages?session=${session}\n\n`);
  }
}
