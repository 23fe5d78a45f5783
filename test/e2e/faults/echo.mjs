// What callers and upstreams agree on: tools whose result nobody else's call can have. `look` may be
// repeated, and its annotations say so; `echo` may not.
import { createHash } from 'node:crypto';

export const TOOLS = ['echo', 'look'];
export const definitions = TOOLS.map((name) => ({ name, description: 'returns what only this call can expect',
  inputSchema: { type: 'object' }, annotations: { readOnlyHint: name === 'look' } }));

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
