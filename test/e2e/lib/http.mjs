// A small HTTP client on node:http: every header can be set (Host, Origin), bodies stay text, SSE
// answers come apart into their events. Used where the test is about bytes and headers.
import http from 'node:http';

import { slow } from './paths.mjs';

export function request(base, { path = '/', method = 'GET', headers = {}, body, agent = false,
  timeout = 30_000 } = {}) {
  const url = new URL(path, base);
  return new Promise((resolve, reject) => {
    const outgoing = http.request(url, { method, headers, agent, setHost: !hasHost(headers) },
      (incoming) => {
        const chunks = [];
        incoming.on('data', (chunk) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode, headers: incoming.headers, text,
            messages: () => messagesOf(incoming.headers, text) });
        });
      });
    outgoing.setTimeout(timeout * slow, () => outgoing.destroy(new Error(
      `${method} ${path}: no answer within ${timeout * slow} ms`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function hasHost(headers) {
  return Object.keys(headers).some((k) => k.toLowerCase() === 'host');
}

// The JSON-RPC texts in a body, whether it is JSON or an event stream.
export function messagesOf(headers, text) {
  if ((headers['content-type'] ?? '').startsWith('text/event-stream')) {
    return events(text).filter((e) => e.data !== '').map((e) => e.data);
  }
  return text.trim() === '' ? [] : [text];
}

export function events(text) {
  const found = [];
  for (const block of text.split(/\r\n\r\n|\n\n|\r\r/)) {
    const event = { event: undefined, id: undefined, data: [] };
    for (const line of block.split(/\r\n|\n|\r/)) {
      const at = line.indexOf(':');
      if (at === 0 || line === '') continue;
      const key = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
      if (key === 'data') event.data.push(value);
      else if (key === 'event' || key === 'id') event[key] = value;
    }
    if (event.event === undefined && event.id === undefined && event.data.length === 0) continue;
    found.push({ ...event, data: event.data.join('\n') });
  }
  return found;
}
