// One daemon, its upstreams, and rounds of load with faults; invariants.mjs says what has to hold.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Daemon, temporary } from '../lib/daemon.mjs';
import { logDir, sanitized, slow } from '../lib/paths.mjs';
import { modern } from '../lib/speak.mjs';
import { eventually, within } from '../lib/wait.mjs';
import { Caller, Report } from './callers.mjs';
import { Driver, HttpProcess, stdioProgram } from './driver.mjs';
import { contentOf } from './echo.mjs';
import { executedTwice, resources } from './invariants.mjs';

const CALL_TIMEOUT = 1_500 * slow;
// `wire` is what is spoken with it: stdio, http (Streamable HTTP) or sse (HTTP+SSE of 2024-11-05).
const pair = (wire, era) => [false, true].map((victim) => (
  { name: `${victim ? 'victim' : 'healthy'}-${wire}-${era}`, wire, era, victim }));
const SERVERS = [...pair('stdio', 'legacy'), ...pair('stdio', 'modern'), ...pair('http', 'legacy'),
  ...pair('http', 'modern'), ...pair('sse', 'legacy'),
  { name: 'victim-stdio-sessions', wire: 'stdio', era: 'legacy', victim: true,
    config: { scope: 'session', instances: { max: 5 }, idle_stop: '1s' } }];

// Growth of the daemon between two rounds of the same load that is not taken for a leak: what the
// allocator holds depends on which buffers were alive at once.
const RSS_FACTOR = 1.25;
const RSS_KB = 24 * 1024;

function configOf(server, dir) {
  const timeouts = server.victim
    ? { call_timeout: `${CALL_TIMEOUT}ms`, start_timeout: `${4_000 * slow}ms`, list_timeout: `${3_000 * slow}ms`,
      stop_grace: '200ms',
      // The breaker spares the caller's faults for the server: some victims go without.
      breaker: { failures: server.era === 'modern' ? 0 : 8, cooldown: '400ms' } }
    : { call_timeout: `${40_000 * slow}ms` };
  const url = `http://127.0.0.1:${server.port}/mcp`;
  if (server.wire === 'sse') return { type: 'sse', url, ...timeouts };
  if (server.wire === 'http') return { url, ...timeouts };
  const { name, era } = server;
  return { command: process.execPath, args: [stdioProgram, JSON.stringify({ name, era, dir })], ...timeouts,
    ...server.config };
}

// A port that a server can come back to: below those that the system gives to outgoing connections.
async function fixedPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = net.createServer();
    const free = await new Promise((resolve) => server.once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => resolve(true)));
    if (free) await new Promise((resolve) => server.close(resolve));
    if (free) return port;
  }
}

export class Harness {
  static async start(t, { callers = 64 } = {}) {
    const harness = new Harness();
    harness.t = t;
    harness.callers = callers;
    const dir = harness.dir = temporary(t);
    harness.servers = SERVERS.map((server) => ({ ...server }));
    for (const server of harness.servers) {
      writeFileSync(path.join(dir, `${server.name}.executed`), '');
      writeFileSync(path.join(dir, `${server.name}.pids`), '');
      if (server.wire === 'stdio') continue;
      server.port = await fixedPort();
      server.http = new HttpProcess(server, dir);
      await server.http.start();
      t.after(() => server.http.stop());
    }
    harness.ports = new Set(harness.servers.map((server) => server.port));
    harness.daemon = await Daemon.start(t, { log: { level: 'info' }, threads: 2,
      limits: { message: '2MiB', sessions: 100_000 }, ready_wait: '1s',
      servers: Object.fromEntries(harness.servers.map((s) => [s.name, configOf(s, dir)])) }, { dir });
    harness.checksMemory = !sanitized();
    await harness.#everyoneServes();
    harness.before = await eventually('quiet before the first round', () => {
      const now = harness.resources();
      const supervisors = now.children.filter((command) => command.includes('mcpx-supervise'));
      const settled = !supervisors.some((command) => command.includes('-sessions'))
        && now.descriptors['anon_inode:[pidfd]'] === supervisors.length;
      return settled && now.descriptors.client === undefined && now;
    });
    return harness;
  }

  resources() { return resources(this.daemon, this.ports); }

  // Load and faults for a while, then quiet: everything is judged, everybody serves again, and what
  // the daemon holds is what it held before the first round.
  // `pace` is the mean time between faults done to processes, `starts` how many of them spoil a start.
  async round(seed, seconds, { pace = 150, starts = 0.3 } = {}) {
    const { daemon, dir, servers } = this;
    const report = new Report();
    const load = { port: daemon.port, servers, report, faulty: true, stopping: false, callTimeout: CALL_TIMEOUT };
    const driver = new Driver({ daemon, dir, servers, seed, pace, starts, callTimeout: CALL_TIMEOUT });
    const callers = Array.from({ length: this.callers }, (_, i) => new Caller(load, seed, i));
    const running = Promise.all(callers.map((caller) => caller.run()));
    const driving = driver.run();
    const end = Date.now() + 1000 * seconds;
    while (Date.now() < end && !daemon.ended && report.violations.length < 20) await pause(50);
    await driver.finish();
    await driving;
    load.faulty = false;
    load.stopping = true;
    await within('callers to end', 60_000, running);
    this.#note(seed, seconds, report, driver);
    assert.equal(daemon.ended, undefined, `mcpxd ended (${this.how})\n${daemon.tail()}`);
    assert.deepEqual(report.violations.map((v) => `${v.caller}: ${v.what}`), [], this.how);
    assert.deepEqual(driver.failed.map((error) => error.message), [], this.how);
    assert.deepEqual(executedTwice(dir, servers), [], `calls carried out twice (${this.how})`);
    const faultsOver = Date.now();
    const recovery = await this.#everyoneServes();
    await this.#quiet();
    return { recovery, quietAfter: Date.now() - faultsOver, report, events: driver.events, memory: this.resources().residentKb };
  }

  assertMemory(before, after) {
    if (!this.checksMemory) return;
    assert.ok(after < before * RSS_FACTOR + RSS_KB,
      `resident memory grew from ${before} to ${after} KiB (${this.how})`);
  }

  // Connections to HTTP servers are kept for a minute after their last use; then only streams are left.
  async assertConnectionsClosed() {
    let now;
    await eventually('connections to upstreams as before', () => {
      now = this.resources().upstream;
      if (now > this.before.upstream) throw new Error(`${now}, before ${this.before.upstream}`);
      return true;
    }, 90_000).catch((error) => { error.message += ` (${this.how})`; throw error; });
  }

  // What happened, for the one who looks for the reason.
  #note(seed, seconds, report, driver) {
    const file = path.join(logDir, `faults-${seed}-${this.daemon.port}.json`);
    writeFileSync(file, JSON.stringify({ seed, seconds, outcomes: report.outcomes,
      violations: report.violations, events: driver.events }, null, 1));
    this.how = `seed ${seed}; node test/e2e/faults/run.mjs --seed ${seed} --seconds ${seconds}; ${file}`;
  }

  // After the faults the back-off, at most a minute, may still have to pass.
  async #everyoneServes() {
    const start = Date.now();
    const recovery = {};
    await Promise.all(this.servers.map((server) => eventually(`${server.name} to serve again`, async () => {
      for (const endpoint of ['/mcp', `/mcp/${server.name}`]) {
        const args = { nonce: `after-${Date.now()}-${endpoint.length}-${Math.random()}`, size: 10, payload: '' };
        const answer = await modern(this.daemon.url, 'tools/call',
          { name: endpoint === '/mcp' ? `${server.name}__echo` : 'echo', arguments: args }, { endpoint });
        if (!answer.message?.result) {
          recovery[`${server.name}, last failure`] = answer.message?.error?.message;
          throw new Error(answer.text);
        }
        assert.deepEqual(answer.message.result.content, contentOf(server.name, args));
      }
      if (server.victim) recovery[server.name] = Date.now() - start;
      return true;
    }, 75_000).catch((error) => { error.message += ` (${this.how})`; throw error; })));
    return recovery;
  }

  async #quiet() {
    for (const { http } of this.servers) await http?.order({ closeIdle: true });
    const { descriptors, threads, children } = this.before;
    let now;
    await eventually('descriptors, threads and children as before', () => {
      now = this.resources();
      assert.deepEqual({ descriptors: now.descriptors, threads: now.threads, children: now.children },
        { descriptors, threads, children });
      return true;
    }, 15_000).catch((error) => { error.message += ` (${this.how})`; throw error; });
  }
}
