// Cases C11 and C13 with what an earlier daemon learned: stored lists are served at once, eras are known.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, limit, received, scripted, temporary } from './lib/daemon.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const names = async (daemon) => (await modern(daemon.url, 'tools/list')).message.result.tools.map((x) => x.name);

// Two servers, one of each transport; `hold` makes neither answer before it is let go.
async function world(t) {
  const dir = temporary(t);
  const web = await ScriptedHttpServer.start(t, { tools: [tool('w')], prompts: [{ name: 'p' }] });
  const script = { tools: [tool('l')], resources: [{ uri: 'x://r', name: 'r' }] };
  const servers = (extra) => ({ web: { url: web.url }, local: scripted(dir, 'local', { ...script, ...extra }) });
  return { dir, web, servers };
}

test('C13: the next daemon lists what the last one learned, before any server answers', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  assert.deepEqual((await names(first)).sort(), ['local__l', 'web__w']);
  await first.stop();

  web.on('*', (exchange) => exchange.connection.gone);
  const second = await Daemon.start(t, { ready_wait: '20s',
    servers: servers({ delay: { initialize: 20_000, 'server/discover': 20_000 } }) },
  { dir, waitReady: false });
  const asked = Date.now();
  assert.deepEqual((await names(second)).sort(), ['local__l', 'web__w']);
  const session = await Session.open(second.url);
  assert.deepEqual((await session.prompts()).map((p) => p.name), ['web__p']);
  assert.equal((await session.list('resources/list', 'resources')).length, 1);
  assert.ok(Date.now() - asked < limit(5_000), 'nothing waited for a server');
  for (const server of await second.servers()) assert.equal(server.state, 'starting', server.name);
});

test('C13: what changed while no daemon ran is shown, and told', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  await first.stop();

  web.tools = [tool('w'), tool('new')];
  let go;
  const gate = new Promise((resolve) => { go = resolve; });
  web.on('tools/list', async (exchange) => { await gate; return exchange.byRule(); });
  const second = await Daemon.start(t, { servers: servers() }, { dir, waitReady: false });
  const session = await Session.open(second.url);
  const stream = await session.stream();
  assert.deepEqual((await session.tools()).map((x) => x.name).sort(), ['local__l', 'web__w']);
  await second.waitServer('local', 'ready');
  await eventually('the list is asked for', () => web.received('tools/list').length > 1);
  const told = () => stream.methods().filter((m) => m === 'notifications/tools/list_changed').length;
  const before = told();
  go();
  await eventually('the new tool', async () =>
    (await session.tools()).map((x) => x.name).sort().join() === 'local__l,web__new,web__w');
  await eventually('a list_changed', () => told() > before);
  stream.close();
});

test('a known era is not asked for again, until it is refuted', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  await first.stop();
  const second = await Daemon.start(t, { servers: servers() }, { dir });
  assert.equal(web.received('server/discover').length, 1);
  assert.equal(web.received('initialize').length, 2);
  await second.stop();
  assert.equal(received(dir, 'local', 'server/discover').length, 0, 'of the second start');

  // The server is updated: initialize is no method of it any more.
  web.era = 'modern';
  const third = await Daemon.start(t, { servers: servers() }, { dir });
  assert.equal((await third.server('web')).protocol, '2026-07-28');
  assert.deepEqual((await names(third)).sort(), ['local__l', 'web__w']);
});
