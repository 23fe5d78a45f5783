// exact.mjs over standard streams. Usage: node exact_stdio.mjs REVISION NAME RECORD
// RECORD gets a JSON line per event, as that of scripted_server.mjs does, and {"at":"log",...} for what
// the server wants known.
import { appendFileSync } from 'node:fs';

import { Exact } from './exact.mjs';

const [revision, name, file] = process.argv.slice(2);
const record = (event) => appendFileSync(file, JSON.stringify({ pid: process.pid, ...event }) + '\n');
const exact = new Exact(revision, name);
exact.log.push = (entry) => record({ at: 'log', ...entry });

function say(message) {
  const text = JSON.stringify(message);
  record({ at: 'said', text });
  process.stdout.write(text + '\n');
}
const subscriptions = [];
exact.push = (message) => {
  if (!exact.modern) return say(message);
  for (const id of subscriptions) {
    say({ ...message, params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } } });
  }
};

async function take(message) {
  const { id, method, params } = message;
  if (method === 'notifications/cancelled') return exact.cancelled(params.requestId);
  if (id === undefined || method === undefined) return;
  if (exact.modern && method === 'subscriptions/listen') {
    subscriptions.push(id);
    return say({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {
      notifications: params.notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } });
  }
  const result = await exact.answer(message, say);
  if (result === undefined) return;
  say(result.error ? { jsonrpc: '2.0', id, error: result.error } : { jsonrpc: '2.0', id, result });
}

let pending = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  pending += chunk;
  for (let at; (at = pending.indexOf('\n')) >= 0; pending = pending.slice(at + 1)) {
    record({ at: 'line', text: pending.slice(0, at) });
    take(JSON.parse(pending.slice(0, at)));
  }
});
process.stdin.on('end', () => process.exit(0));
