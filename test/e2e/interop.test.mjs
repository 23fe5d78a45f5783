// Software nobody here wrote on both sides of mcpx: the three reference servers behind one daemon,
// the four clients in front of it. Each client's results through mcpx equal its results when it talks
// to the server directly, and every frame mcpx sent in between fits the official schema.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { clients, plainNames } from './lib/clients.mjs';
import { comparable, exposedName, exposedUri, itemsOf } from './lib/compare.mjs';
import { Daemon, daemonEnvironment, temporary } from './lib/daemon.mjs';
import { httpFrames } from './lib/frames.mjs';
import { binary, libDir } from './lib/paths.mjs';
import { planFor, serversIn, shortPlanFor } from './lib/plans.mjs';
import { Relay } from './lib/relay.mjs';

const exposed = { name: exposedName, uri: exposedUri };
const MEMBERS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' };

function world(t, sub) {
  const dir = path.join(temporary(t), sub);
  mkdirSync(path.join(dir, 'files/fixed'), { recursive: true });
  return dir;
}
const teed = (dir, servers) => Object.fromEntries(Object.entries(servers).map(([name, s]) =>
  [name, { ...s, command: process.execPath,
    args: [path.join(libDir, 'tee.mjs'), path.join(dir, `${name}.tee`), s.command, ...s.args] }]));

// The client alone with each server, in a world of its own; paths inside are made equal below.
async function directly(drive, plan, dir) {
  const found = {};
  for (const [name, target] of Object.entries(serversIn(dir))) {
    found[name] = await drive(target, plan.filter((s) => s.server === name), plainNames, dir);
  }
  return found;
}

// Tools that a server adds only for a client that declared it answers questions; what mcpx lists is
// what the servers offer to a client that declared nothing.
const CONDITIONAL = new Set(['get-roots-list', 'trigger-sampling-request', 'trigger-elicitation-request',
  'trigger-url-elicitation', 'trigger-elicitation-request-async', 'trigger-sampling-request-async']);
const unconditional = (items) => items.filter((item) => !CONDITIONAL.has(item.name));

// 2026-07-28 has no tasks in its core, so a tool's `execution` is not sent to a modern client.
const inModern = (items) => items.map(({ execution, ...rest }) => rest);

// A client may drop the last progress of a call when its result is on the heels of it (the SDKs over
// stdio do), so what both saw has to be the same, in order.
function samePart(expected, actual, what) {
  const { progress: few = [], ...one } = expected;
  const { progress: many = [], ...other } = actual;
  assert.deepEqual(other, one, what);
  const shared = Math.min(few.length, many.length);
  assert.deepEqual(many.slice(0, shared), few.slice(0, shared), `${what}: progress`);
  if (few.length) assert.ok(shared > 0, `${what}: progress through mcpx`);
}

function assertSame(direct, through, dirs, { merged, modern = false }) {
  const clean = (value, dir) => comparable(JSON.parse(JSON.stringify(value).replaceAll(dir, '<dir>')));
  const offered = (items) => (modern ? inModern(unconditional(items)) : unconditional(items));
  for (const [server, own] of Object.entries(direct)) {
    for (const [member, key] of Object.entries(MEMBERS)) {
      if (!own[member]) continue;
      const mine = merged ? itemsOf(server, through[member], key) : through[server][member];
      assert.deepEqual(clean(unconditional(mine), dirs[1]), clean(offered(own[member]), dirs[0]),
        `${member} of ${server}`);
    }
    const results = merged ? through.results.filter((r) => r.step.startsWith(`${server}: `))
      : through[server].results;
    assert.equal(results.length, own.results.length);
    own.results.forEach((expected, at) => {
      samePart(clean(expected.answer, dirs[0]), clean(results[at].answer, dirs[1]),
        expected.step.replaceAll(dirs[0], '<dir>'));
    });
  }
  if (!merged) return;
  for (const member of Object.keys(MEMBERS)) {
    const total = Object.values(direct).reduce(
      (sum, own) => sum + unconditional(own[member] ?? []).length, 0);
    assert.equal(unconditional(through[member].map((x) => ({ ...x, name: x.name.split('__').pop() }))).length,
      total, `${member}: nothing added, nothing lost`);
  }
}

// Checked when the daemon ends, as for every test; that there was something to check is seen here.
function framesFit(t, daemon, least) {
  return t.test('every frame mcpx sent, to clients and servers, fits the official schema', async (s) => {
    await daemon.stop();
    s.diagnostic(`${daemon.checked} frames checked`);
    assert.ok(daemon.checked >= least, `only ${daemon.checked} frames`);
  });
}

// One daemon over the three servers, recorded on every side.
async function house(t) {
  const dir = world(t, 'through');
  const daemon = await Daemon.start(t, { servers: teed(dir, serversIn(dir)) }, { dir });
  const relay = await Relay.start(daemon.url);
  t.after(() => relay.stop());
  return { dir, daemon, relay };
}
const wide = (dir, drive, who, short) => (short ? shortPlanFor : planFor)(dir, who);

for (const [who, drive] of Object.entries(clients)) {
  const short = who === 'inspector';
  const isModern = who.startsWith('client 2.x');  // both modes find the modern revision
  const label = who.replace(/\W+/g, '-');
  test(`interop: ${who} over HTTP sees the servers as they are`, async (t) => {
    const { dir, daemon, relay } = await house(t);
    const own = world(t, 'direct');
    const direct = await directly(drive, wide(own, drive, label, short), own);
    const through = await drive({ url: `${relay.url}/mcp` }, wide(dir, drive, label, short), exposed, dir);
    await t.test(`${who}: /mcp, all servers merged`, () =>
      assertSame(direct, through, [own, dir], { merged: true, modern: isModern }));
    if (!short) {
      await t.test(`${who}: /mcp/{server}, each under its own names`, async () => {
        const each = {};
        for (const name of Object.keys(direct)) {
          each[name] = await drive({ url: `${relay.url}/mcp/${name}` },
            planFor(dir, label).filter((s) => s.server === name), plainNames, dir);
        }
        assertSame(direct, each, [own, dir], { merged: false, modern: isModern });
      });
    }
    if (who === 'client 2.x modern') {
      const versions = new Set(httpFrames(daemon.wire.connections, 'server').map((f) => f.revision));
      assert.deepEqual([...versions], ['2026-07-28'], 'it really spoke the modern revision');
    }
    await framesFit(t, daemon, short ? 40 : 90);
  });
}

test('interop: sdk 1.x over stdio through `mcpx connect`', async (t) => {
  const { dir, daemon } = await house(t);
  const own = world(t, 'direct');
  const drive = clients['sdk 1.x'];
  const bridge = (...args) => ({ command: binary('mcpx'), args: ['connect', ...args],
    env: { ...daemonEnvironment(dir), MCPX_URL: daemon.url } });
  const direct = await directly(drive, planFor(own, 'connect'), own);
  const through = await drive(bridge('--url', daemon.url), planFor(dir, 'connect'), exposed, dir);
  await t.test('all servers merged', () => assertSame(direct, through, [own, dir], { merged: true }));
  await t.test('--endpoint NAME, one server under its own names', async () => {
    const each = { filesystem: await drive(bridge('--url', daemon.url, '--endpoint', 'filesystem'),
      planFor(dir, 'connect').filter((s) => s.server === 'filesystem'), plainNames, dir) };
    assertSame({ filesystem: direct.filesystem }, each, [own, dir], { merged: false });
  });
  await framesFit(t, daemon, 60);
});
