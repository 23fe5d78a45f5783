// A client of any revision, over HTTP or over the standard streams of `mcpx connect`, with one face:
//
//   request(method, params, {progressToken, level}) -> {message, told: [notifications]}; stdio: also `meta`,
//                                 what _meta has besides
//   setLevel(level)               legacy; a modern request says it itself (`level`)
//   begin(method, params) -> cancel(), a function that cancels the request and answers its message, if any
//   changes                       methods of what it is told unasked
//   close()                       stdio, before the test is over
import { spawn } from 'node:child_process';
import http from 'node:http';

import { daemonEnvironment } from './daemon.mjs';
import { binary } from './paths.mjs';
import { modern, MODERN, modernHeaders, modernMeta, Session } from './speak.mjs';
import { openStream } from './streams.mjs';
import { within } from './wait.mjs';

const own = (meta) => `io.modelcontextprotocol/${meta}`;
const LISTEN = { notifications: { toolsListChanged: true } };

// `url`: where `mcpx connect` finds the daemon, if not at daemon.url.
export function openCaller(t, daemon, revision, transport, url = daemon.url) {
  if (transport === 'stdio') return StdioCaller.open(t, daemon, revision, url);
  return revision === MODERN ? ModernCaller.open(t, daemon) : LegacyCaller.open(t, daemon, revision);
}

const toldIn = (answer) => answer.messages().map((m) => JSON.parse(m)).filter((m) => m.method);

class LegacyCaller {
  static async open(t, daemon, revision) {
    const caller = new LegacyCaller();
    caller.session = await Session.open(daemon.url, { revision });
    caller.stream = await caller.session.stream();
    t.after(() => caller.stream.close());
    return caller;
  }
  get opened() { return this.session.initialized; }
  get changes() { return this.stream.methods(); }
  async request(method, params, { progressToken } = {}) {
    const answer = await this.session.call(method, { ...params, ...(progressToken && { _meta: { progressToken } }) });
    return { message: answer.message, told: toldIn(answer) };
  }
  setLevel(level) { return this.request('logging/setLevel', { level }); }
  begin(method, params) {
    const id = `begun-${this.session.next++}`;
    const answered = this.session.call(method, params, { id });
    return async () => {
      await this.session.notify('notifications/cancelled', { requestId: id, reason: 'the test says so' });
      return (await answered).message;
    };
  }
}

class ModernCaller {
  static async open(t, daemon) {
    const caller = new ModernCaller();
    caller.base = daemon.url;
    caller.stream = await openStream(daemon.url, { path: '/mcp', method: 'POST',
      headers: modernHeaders('subscriptions/listen'), body: JSON.stringify({ jsonrpc: '2.0', id: 'listen',
        method: 'subscriptions/listen', params: { ...LISTEN, _meta: modernMeta() } }) });
    t.after(() => caller.stream.close());
    caller.opened = (await caller.request('server/discover', {})).message.result;
    return caller;
  }
  get changes() { return this.stream.methods(); }
  async request(method, params, { progressToken, level } = {}) {
    const meta = { ...(progressToken && { progressToken }), ...(level && { [own('logLevel')]: level }) };
    const answer = await modern(this.base, method, params, { meta });
    return { message: answer.message, told: toldIn(answer) };
  }
  async setLevel() { /* every request says it */ }
  begin(method, params) {
    const outgoing = http.request(new URL('/mcp', this.base), { method: 'POST',
      headers: modernHeaders(method, params), agent: false });
    outgoing.on('error', () => {}).end(JSON.stringify({ jsonrpc: '2.0', id: 1, method,
      params: { ...params, _meta: modernMeta() } }));
    return async () => { outgoing.destroy(); };
  }
}

class StdioCaller {
  static async open(t, daemon, revision, url) {
    const caller = new StdioCaller(revision);
    caller.#start(t, daemon, url);
    if (caller.modern) {
      caller.#send({ id: 'listen', method: 'subscriptions/listen', params: { ...LISTEN, _meta: modernMeta() } });
      caller.opened = (await caller.request('server/discover', {})).message.result;
    } else {
      caller.opened = (await caller.request('initialize', { protocolVersion: revision, capabilities: {},
        clientInfo: { name: 'e2e', version: '1' } })).message.result;
      caller.#send({ method: 'notifications/initialized' });
    }
    return caller;
  }

  #waiting = new Map();
  #next = 1;
  constructor(revision) { Object.assign(this, { revision, modern: revision === MODERN, told: [] }); }

  #start(t, daemon, url) {
    this.child = spawn(binary('mcpx'), ['connect', '--url', url],
      { env: daemonEnvironment(daemon.dir), stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = new Promise((resolve) => { this.child.on('exit', resolve); });
    this.close = async () => {
      this.child.stdin.end();
      await within('mcpx connect to end', 10_000, exit).catch((error) => {
        this.child.kill('SIGKILL');
        throw error;
      });
    };
    t.after(() => this.close());
    let pending = '';
    this.child.stdout.setEncoding('utf8').on('data', (chunk) => {
      pending += chunk;
      for (let at; (at = pending.indexOf('\n')) >= 0; pending = pending.slice(at + 1)) {
        this.#take(JSON.parse(pending.slice(0, at)));
      }
    });
  }
  #take(message) {
    if (message.method) return void this.told.push(message);
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }
  #send(message) { this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'); }

  get changes() { return this.told.map((m) => m.method); }
  #ask(method, params, { progressToken, level, meta: more } = {}) {
    const id = this.#next++;
    const meta = { ...(progressToken && { progressToken }),
      ...(level && this.modern && { [own('logLevel')]: level }), ...more };
    const _meta = this.modern ? modernMeta(meta) : meta;
    const answered = new Promise((resolve) => { this.#waiting.set(id, resolve); });
    this.#send({ id, method, params: { ...params, ...(Object.keys(_meta).length && { _meta }) } });
    return { id, answered };
  }
  async request(method, params, options = {}) {
    const seen = this.told.length;
    const { answered } = this.#ask(method, params, options);
    const message = await within(`an answer to ${method}`, 30_000, answered);
    return { message, told: this.told.slice(seen) };
  }
  async setLevel(level) { if (!this.modern) await this.request('logging/setLevel', { level }); }
  begin(method, params) {
    const { id } = this.#ask(method, params);
    return async () => {
      this.#send({ method: 'notifications/cancelled',
        params: { requestId: id, reason: 'the test says so', ...(this.modern && { _meta: modernMeta() }) } });
    };
  }
}
