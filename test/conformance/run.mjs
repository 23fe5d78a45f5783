// See run.sh. A daemon serves both fixtures to as many legs as it can; the legs run one after the other,
// each with a time limit.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { clientLegs, runClientLeg, staleSkips } from './client_legs.mjs';
import { Expected, readResults, verdict } from './results.mjs';
import { checkFrames } from '../e2e/lib/frame_check.mjs';
import { Relay } from '../e2e/lib/relay.mjs';
import { moment, tap } from '../e2e/lib/wiretap.mjs';

const here = import.meta.dirname;
const root = path.resolve(here, '../..');
const build = path.resolve(root, process.env.MCPX_BUILD_DIR ?? 'build/debug');
const out = path.join(root, 'build/conformance');
const suite = path.join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const fixtures = path.join(root, 'test/fixtures/everything');
const tee = path.join(root, 'test/e2e/lib/tee.mjs');
const frames = path.join(out, 'frames');  // what passed between mcpxd and the fixtures
const LEG_LIMIT = 180_000;

const { values: options } = parseArgs({ options: {
  leg: { type: 'string', multiple: true }, scenario: { type: 'string' },
  verbose: { type: 'boolean', default: false } } });

// A leg: which fixture is behind, and the runs of the suite that make it up. Through /mcp/{server}, or
// with `merged` through /mcp, where that fixture has an empty prefix and the other one is there too.
const SKILLS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];
const skills = SKILLS.map((name) => ['--spec-version', '2026-07-28', '--force', '--scenario', name]);
const RUNS = {
  '2025-11-25': ['--requirements', '2025-11-25'],
  '2026-07-28': ['--requirements', '2026-07-28'],
  '2025-06-18': ['--spec-version', '2025-06-18'],
  '2025-03-26': ['--spec-version', '2025-03-26'],
  all: ['--suite', 'all'],
};
// Its answers come with the first request, under the key that the question has: its id. In a session of
// all calls one that an earlier scenario left waiting has taken that id, which a server may not use
// twice, so over HTTP what counts is a run in a session of its own.
const ALONE = 'input-required-result-ignore-extra-params';
const FIXTURES = ['legacy', 'http', 'modern'];  // legacy over stdio, legacy over HTTP, modern
const legs = {
  ...Object.fromEntries(FIXTURES.flatMap((fixture) =>
    Object.entries(RUNS).map(([name, run]) => [`${name}-${fixture}`, { fixture, runs: [run] }]))),
  // In a session of its own: a question that an earlier leg left behind keeps its id.
  'all-http': { fixture: 'http', server: 'http-all', runs: [RUNS.all], alone: 'http-all-alone' },
  '2026-07-28-http': { fixture: 'http', runs: [RUNS['2026-07-28']], alone: 'http-alone' },
  '2025-11-25-merged': { fixture: 'legacy', merged: true, runs: [RUNS['2025-11-25']] },
  '2026-07-28-merged': { fixture: 'modern', merged: true, runs: [RUNS['2026-07-28']] },
  '2025-03-26-merged': { fixture: 'legacy', merged: true, runs: [RUNS['2025-03-26']] },
  '2025-06-18-merged': { fixture: 'legacy', merged: true, runs: [RUNS['2025-06-18']] },
  skills: { fixture: 'modern', runs: skills },
  'skills-merged': { fixture: 'modern', merged: true, runs: skills },
  ...clientLegs,
};
function runsOf(leg) {
  if (!options.scenario) return legs[leg].runs;
  if (legs[leg].runs === skills) return legs[leg].runs.filter((run) => run.includes(options.scenario));
  const [, revision = '2025-11-25'] = /^(\d{4}-\d\d-\d\d)/.exec(leg) ?? [];
  return [['--spec-version', revision, '--force', '--scenario', options.scenario]];
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// Runs a program in a group of its own with its output in a file; past the limit the group is killed.
async function run(command, args, log, limit) {
  const file = openSync(log, 'a');
  const child = spawn(command, args, { stdio: ['ignore', file, file], detached: true, cwd: out });
  closeSync(file);
  const timer = limit && setTimeout(() => kill(child, 'SIGKILL'), limit);
  const ended = new Promise((resolve) => {
    child.on('error', (error) => resolve(String(error)));
    child.on('exit', (code, signal) => resolve(code ?? signal));
  }).finally(() => clearTimeout(timer));
  return { child, ended };
}
function kill(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch { /* gone already */ }
}

async function startDaemon(names, bare, port, remote = {}) {
  const config = path.join(out, 'mcpx.json');
  rmSync(frames, { recursive: true, force: true });
  mkdirSync(frames);
  writeFileSync(config, JSON.stringify({ listen: { http: `127.0.0.1:${port}` }, log: { level: 'debug' },
    state_dir: path.join(out, 'state'),
    servers: { ...remote, ...Object.fromEntries(names.map((name) => [name, { command: process.execPath,
      // The suite leaves calls behind that wait for an answer, each at an instance of its own.
      args: [tee, path.join(frames, `${name}.tee`), process.execPath, path.join(fixtures, 'server.mjs'), '--era', name],
      instances: { max: 40 }, ...(name === bare && { prefix: '' }) }])) } }));
  const daemon = await run(path.join(build, 'bin/mcpxd'), ['--config', config], path.join(out, 'mcpxd.log'));
  let over;
  daemon.ended.then((status) => { over = status; });
  for (let waited = 0; waited < 30_000; waited += 100) {
    if (over !== undefined) break;
    const servers = await fetch(`http://127.0.0.1:${port}/v1/servers`).then((r) => r.json())
      .then((body) => body.servers ?? body, () => []);
    if (servers.length === names.length + Object.keys(remote).length && servers.every((s) => s.state === 'ready')) return daemon;
    await pause(100);
  }
  kill(daemon.child, 'SIGKILL');
  throw new Error(`mcpxd is not ready: ${over ?? 'no answer within 30 s'}\n${tail('mcpxd.log')}`);
}
const tail = (name) => readFileSync(path.join(out, name), 'utf8').split('\n').slice(-30).join('\n');

async function stopDaemon({ child, ended }) {
  child.kill('SIGTERM');
  const status = await Promise.race([ended, pause(15_000, 'no end within 15 s', { ref: false })]);
  kill(child, 'SIGKILL');
  if (status !== 0) throw new Error(`mcpxd ended with ${status}\n${tail('mcpxd.log')}`);
}

const totals = { passed: 0, failed: 0, skipped: 0 };
const expected = new Expected(path.join(here, 'expected-failures.txt'));

// docs/conformance.md names every scenario that is skipped: by its name, or all of a kind as `kind/*`.
const documented = new Set([...readFileSync(path.join(root, 'docs/conformance.md'), 'utf8')
  .matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name));
const isDocumented = (name) => documented.has(name) || documented.has(name.replace(/\/.*/, '/*'));

function report(leg, scenario) {
  const kind = printed(leg, scenario);
  if (kind !== 'skipped' || isDocumented(scenario.name)) return kind;
  console.log(`FAILED ${leg} ${scenario.name}: it is skipped, and docs/conformance.md does not say why`);
  return 'failed';
}
function printed(leg, scenario) {
  if (scenario.reason) {
    console.log(`skip   ${leg} ${scenario.name} (${scenario.reason})`);
    return 'skipped';
  }
  const { succeeded, failed, warned, ...found } = verdict(scenario);
  const passed = found.passed && !scenario.complaint;
  const reason = expected.reason(leg, scenario.name);
  const word = passed ? (reason ? 'LISTED' : 'ok') : (reason ? 'skip' : 'FAILED');
  const kind = { ok: 'passed', skip: 'skipped', FAILED: 'failed', LISTED: 'failed' }[word];
  const note = { skip: reason, LISTED: 'passes although expected-failures.txt lists it' }[word] ?? '';
  console.log(`${word.padEnd(7)}${leg} ${scenario.name}: ${succeeded} succeeded, ${failed} failed, `
    + `${warned} warned ${note && `(${note})`}`.trim());
  for (const check of scenario.checks) {
    if (!['FAILURE', 'WARNING'].includes(check.status)) continue;
    if (kind === 'failed' || options.verbose) {
      console.log(`         ${check.status} ${check.id} (${check.name}): ${check.errorMessage ?? ''}`);
    }
  }
  if (kind === 'failed' && scenario.complaint) console.log(scenario.complaint.replace(/^/gm, '         '));
  return kind;
}

async function runLeg(leg, port) {
  const { fixture, server = fixture, merged, alone } = legs[leg];
  const heard = { wire: tap(port), since: moment(), dir: frames };
  const relay = await Relay.start(`http://127.0.0.1:${port}`);
  const url = (name) => `${relay.url}/mcp${merged ? '' : `/${name}`}`;
  const dir = path.join(out, leg);
  const started = Date.now();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  mkdirSync(dir, { recursive: true });
  const runs = runsOf(leg).map((args) => ({ args, at: server }));
  if (alone && !options.scenario) {
    runs.push({ at: alone, args: ['--spec-version', '2026-07-28', '--force', '--scenario', ALONE] });
  }
  for (const { args, at } of runs) {
    const { ended } = await run(process.execPath, [suite, 'server', '--url', url(at), ...args, '-o', dir],
      path.join(out, `${leg}.log`), LEG_LIMIT);
    const status = await ended;
    if (![0, 1].includes(status)) {
      console.log(`FAILED ${leg}: the suite ended with ${status}\n${tail(`${leg}.log`)}`);
      counts.failed++;
    }
  }
  let scenarios = readResults(dir);
  if (alone) {
    const last = scenarios.findLast(({ name }) => name === ALONE);
    scenarios = scenarios.filter((scenario) => scenario.name !== ALONE || scenario === last);
  }
  if (scenarios.length === 0) {
    console.log(`FAILED ${leg}: no scenario ran\n${tail(`${leg}.log`)}`);
    counts.failed++;
  }
  for (const scenario of scenarios) counts[report(leg, scenario)]++;
  await relay.stop();
  counts[reportFrames(leg, heard, counts.passed > 0)]++;
  conclude(leg, counts, started);
}
// Every frame that mcpxd sent, to the suite and to the fixtures, fits the schema of its revision.
function reportFrames(leg, heard, some) {
  const { checked, problems } = checkFrames(heard);
  heard.wire.connections = [];  // the next leg's frames are its own
  for (const file of readdirSync(frames)) writeFileSync(path.join(frames, file), '');
  const failed = problems.length > 0 || (some && checked === 0);
  console.log(`${failed ? 'FAILED' : 'ok    '} ${leg} frames: ${checked} checked, ${problems.length} wrong`);
  for (const problem of problems.slice(0, 20)) console.log(`         ${problem}`);
  return failed ? 'failed' : 'passed';
}
async function runAsClient(leg) {
  const started = Date.now();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const scenario of runClientLeg(leg, { suite, out, run, only: options.scenario })) {
    counts[report(leg, scenario)]++;
  }
  conclude(leg, counts, started);
}
function conclude(leg, counts, started) {
  const all = counts.passed + counts.failed + counts.skipped;
  console.log(`${leg}: ${all} scenarios and checks: ${sum(counts)}; `
    + `${Math.round((Date.now() - started) / 1000)} s\n`);
  for (const kind of Object.keys(totals)) totals[kind] += counts[kind];
}
const sum = (c) => `${c.passed} passed, ${c.failed} failed, ${c.skipped} skipped`;

const chosen = options.leg ?? Object.keys(legs);
for (const leg of chosen) if (!legs[leg]) throw new Error(`unknown leg ${leg}; there are ${Object.keys(legs)}`);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
// A daemon per server with an empty prefix, and one where none has it. The one in question is listed
// first: the suite takes the first tool for some of its probes.
for (const bare of [undefined, 'legacy', 'modern']) {
  const mine = chosen.filter((leg) => !legs[leg].client
    && (legs[leg].merged ? legs[leg].fixture : undefined) === bare);
  if (mine.length === 0) continue;
  const port = await freePort();
  const remotePort = await freePort();
  const remote = await run(process.execPath, [path.join(fixtures, 'http.mjs'), '--port', `${remotePort}`],
    path.join(out, 'http-fixture.log'));
  try {
    const daemon = await startDaemon(bare === 'modern' ? ['modern', 'legacy'] : ['legacy', 'modern'],
      bare, port, bare ? {} : Object.fromEntries(['http', 'http-all', 'http-alone', 'http-all-alone'].map((name) =>
        [name, { url: `http://127.0.0.1:${remotePort}/mcp` }])));
    try {
      for (const leg of mine) await runLeg(leg, port);
    } finally {
      await stopDaemon(daemon);
    }
  } catch (error) {
    console.log(`FAILED ${mine.join(', ')}: ${error.message}`);
    totals.failed++;
  }
  kill(remote.child, 'SIGKILL');
}
for (const leg of chosen.filter((name) => legs[name].client)) {
  await runAsClient(leg).catch((error) => {
    console.log(`FAILED ${leg}: ${error.message}`);
    totals.failed++;
  });
}
// What is listed but did not run is as misleading as what is listed and passes.
if (!options.leg && !options.scenario) {
  for (const line of expected.unused()) {
    console.log(`FAILED expected-failures.txt: no such scenario ran: ${line}`);
    totals.failed++;
  }
  for (const name of staleSkips(suite)) {
    console.log(`FAILED client_scenarios.mjs: no leg has the skipped scenario ${name}`);
    totals.failed++;
  }
}
console.log(sum(totals));
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
