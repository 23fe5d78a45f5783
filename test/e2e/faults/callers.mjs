// The callers: each one client in a closed loop, legacy with a session or modern, on /mcp or on
// /mcp/{server}. Every answer is judged when it comes; what is wrong lands in `report.violations`.
import { setTimeout as pause } from 'node:timers/promises';

import { slow } from '../lib/paths.mjs';
import { LEGACY, modernHeaders, modernMeta } from '../lib/speak.mjs';
import { TOOLS } from './echo.mjs';
import { inCall } from './faults.mjs';
import { judge, responseIn, Violation } from './invariants.mjs';
import { Random } from './random.mjs';
import { Broken, Connection, requestText } from './wire.mjs';

const HANG = 45_000 * slow;  // longer than any deadline in the configuration
const LARGEST_RESULT = 200_000;
const LARGEST_PAYLOAD = 60_000;
const POST_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export class Report {
  constructor() {
    this.outcomes = {};  // server -> outcome -> count
    this.violations = [];
    this.requests = 0;
  }
  count(server, outcome) {
    const row = this.outcomes[server] ??= {};
    row[outcome] = (row[outcome] ?? 0) + 1;
  }
}

export class Caller {
  // `load` is shared by all: {port, servers, report, faulty (are calls to go wrong?), stopping,
  // callTimeout}.
  constructor(load, seed, number) {
    this.load = load;
    this.name = `c${number}`;
    this.random = new Random(seed, 'caller', number);
    this.era = number % 2 ? 'legacy' : 'modern';
    this.revision = LEGACY[1 + (number >> 1) % 3];
    this.own = number % 4 < 2 ? null : load.servers[(number >> 2) % load.servers.length];
    this.endpoint = this.own ? `/mcp/${this.own.name}` : '/mcp';
    this.made = 0;
  }

  async run() {
    while (!this.load.stopping) {
      try {
        await this.#step();
      } catch (error) {
        if (!(error instanceof Violation) && !(error instanceof Broken)) error.message = error.stack;
        this.load.report.violations.push({ caller: `${this.name} (${this.era} on ${this.endpoint})`,
          at: new Date().toISOString(), what: error.message, last: this.doing });
        this.connection?.vanish();
      }
      await pause(this.random.between(0, 20));
    }
    await this.end();
  }

  async end() {
    if (this.session) await this.#exchange('DELETE', '').catch(() => {});
    this.session = undefined;
    this.connection?.close();
  }

  #step() {
    const kind = this.random.next();
    if (kind < 0.04) return this.#list();
    if (kind < 0.06 && this.era === 'legacy') return this.#ping();
    if (kind < 0.07 && this.session) return this.#abandon();
    return this.#call();
  }

  // --- What a caller does

  async #call() {
    const call = this.#newCall();
    const { random } = this;
    await this.#ready();
    const { id, text, params } = this.#request('tools/call', { name: this.#nameOf(call.server, call.tool),
      arguments: call.arguments }, call.progress ? `${this.name}-p${this.made}` : undefined);
    this.doing = { server: call.server, id, nonce: call.arguments.nonce, fault: call.arguments.fault };
    const fate = random.next();
    if (fate < 0.05) return this.#vanish(call, text);
    const patience = fate < 0.1 ? random.between(0, 200) : undefined;
    const answer = this.era === 'modern'
      ? await this.#hearModern(text, patience) : await this.#hearLegacy(text, id, patience);
    if (answer === undefined) return this.load.report.count(call.server, 'cancelled');
    const response = responseIn(answer, id, params._meta?.progressToken);
    if (response === undefined && patience !== undefined) {
      return this.load.report.count(call.server, 'cancelled');
    }
    if (response === undefined) throw new Violation(`no response: HTTP ${answer.status} ${answer.text}`);
    const outcome = judge(call, answer, response);
    this.load.report.count(call.server, outcome);
    if (!call.victim && outcome !== 'ok') {
      throw new Violation(`the healthy ${call.server} failed: ${JSON.stringify(response.error)}`);
    }
  }

  // Closing the connection cancels a modern request: its answer is not waited for.
  async #hearModern(text, patience) {
    this.connection.send(text);
    if (patience === undefined) return this.#hear();
    try {
      return await this.connection.receive(patience);
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      this.connection.vanish();
      return undefined;
    }
  }

  // A legacy one is cancelled by a notification, which may cross the answer.
  async #hearLegacy(text, id, patience) {
    this.connection.send(text);
    if (patience === undefined) return this.#hear();
    const answer = this.#hear();
    answer.catch(() => {});  // awaited below
    await pause(patience);
    const second = await Connection.open(this.load.port);
    second.send(this.#post({ jsonrpc: '2.0', method: 'notifications/cancelled',
      params: { requestId: id, reason: 'enough' } }));
    const { status } = await second.receive(HANG);
    second.close();
    if (status !== 202) throw new Violation(`HTTP ${status} for a cancellation`);
    return answer;
  }

  async #vanish(call, text) {
    this.load.report.count(call.server, 'vanished');
    const how = this.random.between(0, 2);
    if (how === 0) {
      this.connection.send(text.slice(0, this.random.between(1, text.length - 1)));
      await pause(this.random.between(0, 20));
    } else {
      this.connection.send(text);
      if (how === 1) await pause(this.random.between(0, 100));
      else await this.connection.started(HANG);
    }
    this.connection.vanish();
  }

  async #list() {
    await this.#ready();
    const { id, text } = this.#request('tools/list', {});
    this.doing = { list: id };
    this.connection.send(text);
    const answer = await this.#hear();
    const response = responseIn(answer, id);
    const names = response?.result?.tools?.map((tool) => tool.name);
    const servers = this.own ? [this.own] : this.load.servers;
    const wanted = servers.flatMap(({ name }) => TOOLS.map((tool) => this.#nameOf(name, tool)));
    if (!names || !wanted.every((name) => names.includes(name)) || names.length !== wanted.length) {
      throw new Violation(`listed ${names}, wanted ${wanted}: ${answer.text.slice(0, 300)}`);
    }
  }

  async #ping() {
    await this.#ready();
    const { id, text } = this.#request('ping', {});
    this.doing = { ping: id };
    this.connection.send(text);
    const response = responseIn(await this.#hear(), id);
    if (JSON.stringify(response?.result) !== '{}') throw new Violation('no answer to ping');
  }

  // A session whose client never says goodbye.
  async #abandon() {
    this.session = undefined;
    this.connection.vanish();
  }

  // --- How

  #newCall() {
    const { load, random } = this;
    const server = this.own ?? random.pick(load.servers);
    const goesWrong = server.victim && load.faulty && random.chance(0.06);
    const fault = goesWrong ? random.pick(inCall[server.wire]) : undefined;
    const slowly = random.chance(0.1) ? random.between(1, 300) : undefined;
    const wait = fault ? random.between(1, 2 * load.callTimeout) : slowly;
    return { server: server.name, victim: server.victim, tool: random.pick(TOOLS), progress: random.chance(0.1),
      arguments: { nonce: `${this.name}-${++this.made}-${random.between(0, 1e9).toString(36)}`,
        size: random.size(LARGEST_RESULT), payload: 'p'.repeat(random.size(LARGEST_PAYLOAD)),
        fault, wait, sse: random.chance(0.3) || undefined } };
  }

  #nameOf(server, tool) { return this.own ? tool : `${server}__${tool}`; }

  // Numbers and texts; unique within the caller, not among callers.
  #request(method, params, progressToken) {
    const number = ++this.load.report.requests && ++this.made;
    const id = this.random.chance(0.5) ? number : `r${number}`;
    const meta = this.era === 'modern' ? modernMeta() : {};
    if (progressToken !== undefined) meta.progressToken = progressToken;
    const whole = Object.keys(meta).length ? { ...params, _meta: meta } : params;
    return { id, params: whole, text: this.#post({ jsonrpc: '2.0', id, method, params: whole }) };
  }

  #post(message) {
    const headers = this.era === 'modern' ? modernHeaders(message.method, message.params)
      : { ...POST_HEADERS, ...this.#sessionHeaders() };
    return requestText('POST', this.endpoint, this.load.port, headers, JSON.stringify(message));
  }
  #sessionHeaders() {
    if (!this.session) return {};
    return { 'mcp-session-id': this.session,
      ...(this.revision >= '2025-06-18' ? { 'mcp-protocol-version': this.revision } : {}) };
  }

  async #exchange(method, body) {
    await this.#connected();
    this.connection.send(requestText(method, this.endpoint, this.load.port, this.#sessionHeaders(), body));
    return this.#hear();
  }

  async #hear() {
    const answer = await this.connection.receive(HANG);
    if (this.connection.surplus) throw new Violation('bytes after the answer');
    return answer;
  }

  async #connected() {
    if (this.connection?.usable && this.connection.surplus) {
      throw new Violation('bytes that nothing asked for');
    }
    if (!this.connection?.usable) this.connection = await Connection.open(this.load.port);
  }

  async #ready() {
    await this.#connected();
    if (this.era === 'modern' || this.session) return;
    this.connection.send(this.#post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {
      protocolVersion: this.revision, capabilities: {}, clientInfo: { name: this.name, version: '1' } } }));
    const answer = await this.#hear();
    const response = responseIn(answer, 0);
    if (response?.result?.protocolVersion !== this.revision) {
      throw new Violation(`initialize: HTTP ${answer.status} ${answer.text.slice(0, 300)}`);
    }
    this.session = answer.headers['mcp-session-id'];
    this.connection.send(this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    const noted = await this.#hear();
    if (noted.status !== 202) throw new Violation(`initialized: HTTP ${noted.status}`);
  }
}
