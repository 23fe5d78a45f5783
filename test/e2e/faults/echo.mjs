// What callers and upstreams agree on: the one tool, `echo`, whose result nobody else's call can have.
import { createHash } from 'node:crypto';

export const TOOL = 'echo';
export const definition = { name: TOOL, description: 'returns what only this call can expect',
  inputSchema: { type: 'object' } };

// `size` characters that depend on the nonce, with everything that JSON has to escape.
export function fill(nonce, size) {
  const block = `${nonce}|\u00e9\u4e2d\u{1f600}"\\\n\t\u0001|`;
  return block.repeat(Math.ceil(size / block.length)).slice(0, size).replace(/[\ud800-\udbff]$/, '');
}

export const digest = (payload) => createHash('sha1').update(payload).digest('hex');

export function contentOf(server, { nonce, size, payload }) {
  return [{ type: 'text', text: `${server}:${nonce}:${digest(payload)}` },
    { type: 'text', text: fill(nonce, size) }];
}
