// The real mcpxd, started for one test: own directory, own port, own log, and at the end the proof
// that it left with code 0 and that none of what it started is still there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync }
  from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

import { checkFrames } from './frame_check.mjs';
import { request } from './http.mjs';
import { binary, libDir, logDir, slow } from './paths.mjs';
import { alive, descendants, marked } from './processes.mjs';
import { modern } from './speak.mjs';
import { eventually, within } from './wait.mjs';
import { moment, tap, tapUnix } from './wiretap.mjs';

export async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// A directory that goes away with the test, after the daemons that work in it.
const working = new Map();
export function temporary(t) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'mcpx-e2e-'));
  t.after(async () => {
    for (const [place, daemons] of working) {
      if (place !== dir && !place.startsWith(`${dir}/`)) continue;
      for (const daemon of daemons) await daemon.stop().catch((error) => failLast(t, error));
      working.delete(place);
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  return dir;
}
// A hook that throws keeps the later ones from running, and what they would close from closing.
function failLast(t, error) {
  t.after(() => { throw error; });
}

// The `servers:` entry for a scripted upstream; `dir` is the test's directory.
export function scripted(dir, name, script, extra = {}) {
  const file = path.join(dir, `${name}.script.json`);
  const record = path.join(dir, `${name}.record.jsonl`);
  writeFileSync(record, '');
  writeFileSync(file, JSON.stringify({ serverInfo: { name, version: '1' }, record, ...script }));
  return { command: process.execPath, args: [path.join(libDir, 'scripted_server.mjs'), file], ...extra };
}
export function tiny(extra = {}) {
  return { command: '/bin/sh', args: [path.join(libDir, 'tiny_server.sh')], ...extra };
}
// What it noted: everything, or all but what it said itself.
export function transcript(dir, name) {
  return readFileSync(path.join(dir, `${name}.record.jsonl`), 'utf8').split('\n')
    .filter(Boolean).map((line) => JSON.parse(line));
}
export const recorded = (dir, name) => transcript(dir, name).filter((e) => e.at !== 'said');
// The parsed requests a scripted server got, of one method when given.
export function received(dir, name, method) {
  return recorded(dir, name).filter((e) => e.at === 'line').map((e) => JSON.parse(e.text))
    .filter((m) => method === undefined || m.method === method);
}
export const startsOf = (dir, name) => recorded(dir, name).filter((e) => e.at === 'start');

export class Daemon {
  // `config` is what the file says (JSON is YAML); listen.http is filled in. Options: dir, env, args,
  // waitReady (default true: until no server is starting), raw (text of the file instead, or
  // what makes it of the port), host (listened on instead of loopback), token (shown
  // by the helpers here), probe (asked until it answers something truthy, instead of /v1/health),
  // command (run instead of mcpxd, with the path of mcpxd and its arguments appended).
  static async start(t, config, options = {}) {
    const daemon = new Daemon();
    daemon.dir = options.dir ?? temporary(t);
    daemon.port = options.port ?? await freePort();
    daemon.url = `http://127.0.0.1:${daemon.port}`;
    daemon.wire = tap(daemon.port);
    if (config?.listen?.unix) tapUnix(config.listen.unix, daemon.wire);
    daemon.since = moment();
    working.set(daemon.dir, [...working.get(daemon.dir) ?? [], daemon]);
    daemon.config = path.join(daemon.dir, 'mcpx.yaml');
    const listen = { http: `${options.host ?? '127.0.0.1'}:${daemon.port}`, ...config.listen };
    const raw = typeof options.raw === 'function' ? options.raw(daemon.port) : options.raw;
    writeFileSync(daemon.config, raw ?? JSON.stringify({ log: { level: 'debug' }, ...config, listen }, null, 2));
    mkdirSync(logDir, { recursive: true });
    daemon.logFile = path.join(
      logDir, `${t.name.replace(/ \[req:.*/, '').replace(/[^\w.-]+/g, '_').slice(0, 80)}-${daemon.port}.log`);
    daemon.environment = daemonEnvironment(daemon.dir, options.env);
    daemon.headers = options.token ? { authorization: `Bearer ${options.token}` } : {};
    daemon.probe = options.probe;
    daemon.command = options.command ?? [];
    daemon.spawn(options.args ?? []);
    t.after(() => daemon.stop().catch((error) => failLast(t, error)));
    await daemon.waitListening();
    if (options.waitReady ?? true) await daemon.waitReady();
    return daemon;
  }

  spawn(args = []) {
    const log = openSync(this.logFile, 'a');
    const [program, ...before] = [...this.command, binary('mcpxd')];
    this.process = spawn(program, [...before, '--config', this.config, ...args],
      { stdio: ['ignore', log, log], env: this.environment, cwd: this.dir });
    closeSync(log);
    this.ended = undefined;  // of the one before, if there was one
    this.exit = new Promise((resolve) => {
      this.process.on('error', (error) => resolve({ error }));
      this.process.on('exit', (code, signal) => {
        this.ended = { code, signal };
        resolve(this.ended);
      });
    });
    this.stopped = false;
  }

  get pid() { return this.process.pid; }
  log() { return readFileSync(this.logFile, 'utf8'); }

  async waitListening() {
    await eventually('mcpxd listening', async () => {
      if (this.ended) throw new Error(`mcpxd ended: ${JSON.stringify(this.ended)}\n${this.tail()}`);
      if (this.probe) return this.probe(this);
      return (await this.rest('/v1/health', { timeout: 2_000 })).status === 200;
    }).catch((error) => { throw new Error(`${error.message}\n${this.tail()}`); });
  }

  // Until every enabled server has settled (ready, failed, or idle again), and what the ready ones offer is
  // listed: changes are coalesced for a moment before clients see them.
  async waitReady() {
    await eventually('servers settled', async () => {
      const servers = await this.servers();
      if (servers.some((s) => s.state === 'starting' || (s.state === 'idle' && s.starts === 0))) return false;
      for (const server of servers.filter((s) => s.state === 'ready')) {
        if (!await this.lists(server)) return false;
      }
      return true;
    }, 30_000).catch((error) => { throw new Error(`${error.message}\n${this.tail()}`); });
  }
  async lists(server) {
    const kinds = [['tools', 'tools/list', 'tools'], ['prompts', 'prompts/list', 'prompts'],
      ['resources', 'resources/list', 'resources'],
      ['resource_templates', 'resources/templates/list', 'resourceTemplates']];
    for (const [count, method, member] of kinds) {
      if (!server[count]) continue;
      const answer = await modern(this.url, method, {}, { endpoint: `/mcp/${server.name}`,
        headers: this.headers });
      if (!answer.message?.result?.[member]?.length) return false;
    }
    return true;
  }

  tail(lines = 40) { return this.log().split('\n').slice(-lines).join('\n'); }

  async rest(where, options = {}) {
    const headers = { ...this.headers, ...options.headers };
    const answer = await request(this.url, { path: where, ...options, headers });
    answer.json = () => JSON.parse(answer.text);
    return answer;
  }
  async status() { return (await this.rest('/v1/status')).json(); }
  async servers() {
    const body = (await this.rest('/v1/servers')).json();
    return Array.isArray(body) ? body : body.servers;
  }
  async server(name) {
    const answer = await this.rest(`/v1/servers/${name}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
  }
  waitServer(name, what, milliseconds) {
    const matches = typeof what === 'string' ? (s) => s.state === what : what;
    return eventually(`server ${name}: ${what}`, async () => {
      const server = await this.server(name);
      if (matches(server)) return server;
      throw new Error(`is ${server.state}`);
    }, milliseconds);
  }

  children() { return descendants(this.pid); }

  // Ends it as an operator does and checks what it leaves behind. Later calls do nothing.
  async stop({ signal = 'SIGTERM', limit = 15_000 } = {}) {
    if (this.stopped) return;
    this.stopped = true;
    const family = this.ended ? [] : this.children();
    if (!this.ended) this.process.kill(signal);
    let ended;
    try {
      ended = await within('mcpxd to end', limit, this.exit);
    } catch (error) {
      this.process.kill('SIGKILL');
      await this.exit;
      await this.assertGone(family);
      throw new Error(`${error.message}\n${this.tail()}`);
    }
    await this.assertGone(family);
    assert.deepEqual(ended, { code: 0, signal: null }, `exit of mcpxd\n${this.tail()}`);
    this.assertFrames();
  }

  // What it said fits the official schemas. `unchecked` gives the reason why a test's does not count.
  assertFrames() {
    if (this.unchecked) return;
    const { checked, problems } = checkFrames(this);
    this.checked = checked;
    assert.equal(problems.length, 0, `frames of mcpxd:\n${problems.slice(0, 10).join('\n')}`);
  }

  // kill -9, for the tests that are about it.
  async crash() {
    this.stopped = true;
    const family = this.children();
    this.process.kill('SIGKILL');
    await this.exit;
    this.assertFrames();
    return family;
  }

  async assertGone(family, milliseconds = 3_000) {
    const rest = () => [...family.filter(alive), ...marked(this.dir + '/')];
    try {
      await eventually('no survivors', () => rest().length === 0, milliseconds);
    } catch {
      const left = rest();
      for (const p of left) {
        try {
          process.kill(p.pid, 'SIGKILL');
        } catch { /* gone meanwhile */ }
      }
      if (left.length) {
        assert.fail(`survived the daemon: ${left.map((p) => `${p.pid} ${p.command}`).join('; ')}`);
      }
    }
  }
}

export function daemonEnvironment(dir, extra = {}) {
  return {
    PATH: process.env.PATH, LANG: process.env.LANG ?? 'C.UTF-8', HOME: dir,
    XDG_CONFIG_HOME: path.join(dir, 'config'), XDG_STATE_HOME: path.join(dir, 'state'),
    XDG_RUNTIME_DIR: dir, XDG_CACHE_HOME: path.join(dir, 'cache'), TMPDIR: dir,
    ...keep('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS', 'MCPX_SUPERVISE'),
    ...extra,
  };
}
function keep(...names) {
  return Object.fromEntries(names.filter((n) => process.env[n]).map((n) => [n, process.env[n]]));
}
export const limit = (milliseconds) => milliseconds * slow;

// Runs a program to its end: {code, signal, stdout, stderr}.
export function run(command, args, { env, input, timeout = 30_000, cwd } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (d) => { stdout += d; });
    child.stderr.setEncoding('utf8').on('data', (d) => { stderr += d; });
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${command} ${args.join(' ')}: not done within ${timeout * slow} ms\n${stderr}`));
    }, timeout * slow);
    child.on('error', (error) => { clearTimeout(timer); reject(error); });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}
