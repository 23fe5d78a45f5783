// A response that is an event stream, read while it lasts.
import assert from 'node:assert/strict';
import http from 'node:http';

import { events } from './http.mjs';

// {messages, events, headers, methods(), ended, close()}; messages are parsed as they arrive, events
// are all of them, those without data too.
export async function openStream(base, { path, method = 'GET', headers, body }) {
  const outgoing = http.request(new URL(path, base), { method, headers, agent: false });
  const incoming = await new Promise((resolve, reject) => {
    outgoing.on('response', resolve).on('error', reject).end(body);
  });
  assert.equal(incoming.statusCode, 200, `${method} stream`);
  const messages = [];
  const all = [];
  let pending = '';
  incoming.setEncoding('utf8').on('error', () => {}).on('data', (chunk) => {
    pending += chunk;
    for (let at; (at = pending.search(/\r?\n\r?\n/)) >= 0;) {
      const block = pending.slice(0, at);
      pending = pending.slice(at).replace(/^\r?\n\r?\n/, '');
      for (const event of events(block)) {
        all.push(event);
        if (event.data.startsWith('{')) messages.push(JSON.parse(event.data));
      }
    }
  });
  return { messages, events: all, headers: incoming.headers, methods: () => messages.map((m) => m.method),
    ended: new Promise((resolve) => { incoming.on('close', resolve); }), close: () => outgoing.destroy() };
}
