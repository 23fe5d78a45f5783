// Changing the configuration of a running daemon, and who is told.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

import { startsOf } from './daemon.mjs';
import { alive } from './processes.mjs';
import { modernHeaders, modernMeta } from './speak.mjs';
import { openStream } from './streams.mjs';
import { eventually } from './wait.mjs';

// `change` gets the parsed file and changes it in place.
export function rewrite(daemon, change) {
  const config = JSON.parse(readFileSync(daemon.config, 'utf8'));
  change(config);
  // In one step, for a reload may be reading it.
  writeFileSync(`${daemon.config}.new`, JSON.stringify(config, null, 2));
  renameSync(`${daemon.config}.new`, daemon.config);
}

export async function reload(daemon, change) {
  if (change) rewrite(daemon, change);
  const answer = await daemon.rest('/v1/reload', { method: 'POST', timeout: 60_000 });
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

const outcomes = (daemon) => daemon.log().match(/ (reloaded|not reloaded: ).*/g) ?? [];
// What the log says came of a SIGHUP.
export async function hangUp(daemon) {
  const before = outcomes(daemon).length;
  daemon.process.kill('SIGHUP');
  return eventually('the signal was acted on', () => outcomes(daemon)[before]);
}

// The processes a scripted server was started as, newest last.
export const processesOf = (dir, name) => startsOf(dir, name).map((event) => event.pid);
export const running = (daemon, pid) =>
  daemon.children().some((child) => child.pid === pid && alive(child));

// A subscription of a modern client to every list.
export async function listen(daemon, endpoint = '/mcp') {
  const notifications = { toolsListChanged: true, promptsListChanged: true,
    resourcesListChanged: true };
  const stream = await openStream(daemon.url, { path: endpoint, method: 'POST',
    headers: modernHeaders('subscriptions/listen'), body: JSON.stringify({ jsonrpc: '2.0', id: 'l',
      method: 'subscriptions/listen', params: { notifications, _meta: modernMeta() } }) });
  await eventually('acknowledged', () => stream.methods().length === 1);
  return stream;
}
export const told = (stream, kind) =>
  stream.methods().filter((method) => method === `notifications/${kind}/list_changed`).length;
