// Software nobody here wrote on both sides of mcpx: the three reference servers behind one daemon,
// the four clients in front of it. Each client's results through mcpx equal its results when it talks
// to the server directly, and every frame mcpx sent in between fits the official schema.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { clients, plainNames } from './lib/clients.mjs';
import { comparable, exposedName, exposedUri, itemsOf } from './lib/compare.mjs';
import { Daemon, daemonEnvironment, temporary } from './lib/daemon.mjs';
import { binary, libDir } from './lib/paths.mjs';
import { planFor, serversIn, shortPlanFor } from './lib/plans.mjs';
import { Recorder } from './lib/recorder.mjs';
import { framesOfHttp, framesOfStdio, Schemas } from './lib/schema.mjs';

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
const linesOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse);

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

async function schemaCheck(t, what, frames, least) {
  await t.test(`${what}: every frame mcpx sent fits the official schema`, (s) => {
    const schemas = Schemas.load();
    if (!schemas) return s.skip('the official schemas are not here (MCPX_SPEC_DIR)');
    const { checked, problems } = schemas.check(frames);
    s.diagnostic(`${checked} frames checked`);
    assert.deepEqual(problems.slice(0, 10), []);
    assert.ok(checked >= least, `only ${checked} frames`);
  });
}

// One daemon over the three servers, recorded on every side.
async function house(t) {
  const dir = world(t, 'through');
  const daemon = await Daemon.start(t, { servers: teed(dir, serversIn(dir)) }, { dir });
  const recorder = await Recorder.start(daemon.url);
  t.after(() => recorder.stop());
  return { dir, daemon, recorder };
}
const wide = (dir, drive, who, short) => (short ? shortPlanFor : planFor)(dir, who);

async function upstreamFrames(t, dir, daemon) {
  await daemon.stop();
  for (const name of ['everything', 'filesystem', 'memory']) {
    await schemaCheck(t, `towards ${name}`, framesOfStdio(linesOf(path.join(dir, `${name}.tee`))), 5);
  }
}

for (const [who, drive] of Object.entries(clients)) {
  const short = who === 'inspector';
  const isModern = who.startsWith('client 2.x');  // both modes find the modern revision
  const label = who.replace(/\W+/g, '-');
  test(`interop: ${who} over HTTP sees the servers as they are`, async (t) => {
    const { dir, daemon, recorder } = await house(t);
    const own = world(t, 'direct');
    const direct = await directly(drive, wide(own, drive, label, short), own);
    const through = await drive({ url: `${recorder.url}/mcp` }, wide(dir, drive, label, short), exposed, dir);
    await t.test(`${who}: /mcp, all servers merged`, () =>
      assertSame(direct, through, [own, dir], { merged: true, modern: isModern }));
    if (!short) {
      await t.test(`${who}: /mcp/{server}, each under its own names`, async () => {
        const each = {};
        for (const name of Object.keys(direct)) {
          each[name] = await drive({ url: `${recorder.url}/mcp/${name}` },
            planFor(dir, label).filter((s) => s.server === name), plainNames, dir);
        }
        assertSame(direct, each, [own, dir], { merged: false, modern: isModern });
      });
    }
    await schemaCheck(t, `towards ${who}`, framesOfHttp(recorder.entries), short ? 20 : 60);
    if (who === 'client 2.x modern') {
      const versions = new Set(framesOfHttp(recorder.entries).map((f) => f.revision));
      assert.deepEqual([...versions], ['2026-07-28'], 'it really spoke the modern revision');
    }
    await upstreamFrames(t, dir, daemon);
  });
}

test('interop: sdk 1.x over stdio through `mcpx connect`', async (t) => {
  const { dir, daemon } = await house(t);
  const own = world(t, 'direct');
  const drive = clients['sdk 1.x'];
  const record = path.join(dir, 'connect.tee');
  writeFileSync(record, '');
  const bridge = (...args) => ({ command: process.execPath, args: [path.join(libDir, 'tee.mjs'), record,
    binary('mcpx'), 'connect', ...args], env: { ...daemonEnvironment(dir), MCPX_URL: daemon.url } });
  const direct = await directly(drive, planFor(own, 'connect'), own);
  const through = await drive(bridge('--url', daemon.url), planFor(dir, 'connect'), exposed, dir);
  await t.test('all servers merged', () => assertSame(direct, through, [own, dir], { merged: true }));
  await t.test('--endpoint NAME, one server under its own names', async () => {
    const each = { filesystem: await drive(bridge('--url', daemon.url, '--endpoint', 'filesystem'),
      planFor(dir, 'connect').filter((s) => s.server === 'filesystem'), plainNames, dir) };
    assertSame({ filesystem: direct.filesystem }, each, [own, dir], { merged: false });
  });
  // Seen from the tee the client is in front: its "mcpx" side is the client, its "server" is mcpx.
  const frames = linesOf(record).map((l) => ({ ...l, from: l.from === 'mcpx' ? 'client' : 'mcpx' }));
  await schemaCheck(t, 'towards the stdio client', framesOfStdio(frames, { other: 'client' }), 30);
  await upstreamFrames(t, dir, daemon);
});
