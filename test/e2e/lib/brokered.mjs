// What tests about the broker share: a daemon that keeps questions, its callers, and who answers.
import assert from 'node:assert/strict';

import { binary } from './paths.mjs';
import { Daemon, daemonEnvironment, run } from './daemon.mjs';
import { modern } from './speak.mjs';
import { eventually } from './wait.mjs';

export const start = (t, broker, servers, options, more) => Daemon.start(t,
  { broker: { declare: ['form', 'url', 'sampling'], ...broker }, servers, ...more }, options);
export const ask = (daemon, server = 'pipe', args = { kind: 'form' }, options = {}) =>
  modern(daemon.url, 'tools/call', { name: `${server}__ask`, arguments: args }, options);
export const mcpx = (daemon, args, options = {}) => run(binary('mcpx'), [...args, '--url', daemon.url],
  { env: daemonEnvironment(daemon.dir), ...options });

export async function list(daemon, state = 'pending') {
  const answer = await daemon.rest(`/v1/elicitations?state=${state}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json().elicitations;
}
export const waiting = (daemon, count = 1) => eventually(`${count} questions`, async () => {
  const rows = await list(daemon);
  return rows.length === count && rows;
});
export const post = (daemon, id, action, body = {}) => daemon.rest(`/v1/elicitations/${id}/${action}`,
  { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
