// A fake HTTP upstream inside the test process that does what a table says, down to the socket.
//
//   const server = await ScriptedHttpServer.start(t, { era: 'legacy', tools: [...] });
//   server.once('tools/call', { status: 503 });                     // the next such request
//   server.on('tools/call', { deliver: { upTo: 0.5, then: 'reset' } });   // every one from now on
//   server.on('GET', (exchange) => ...);                            // by hand
//
// A key is a JSON-RPC method, or 'GET' | 'DELETE' | 'POST' (any), or '*'. The newest `once` that fits is
// used first, then the newest `on`, then the default: a well-behaved server. A rule is a function of the
// Exchange, or an object, all members optional:
//   delay            ms before anything
//   result | error   value, or its raw JSON text, instead of the default answer
//   status, headers, body (text or Buffer), chunked     a whole reply; `headers` alone add to the default
//   raw              all the bytes of the reply
//   events           [message | text of a whole event] sent as an event stream, which then ends
//   sse              true: the default answer as an event stream
//   deliver          how the bytes reach the peer, see raw_http.mjs
//   then             function of the Exchange, after the reply
// Options: era 'legacy' (default) | 'modern' | 'http+sse' (2024-11-05: endpoint /sse); serverInfo,
// capabilities, tools, prompts, resources, templates (lists of definitions); subscribe (true: resources can be
// subscribed to); calls {tool: (args, exchange)
// => result}, the default echoes the arguments; sse; sessions (default true; legacy); gone (exchange =>
// reply to a session that is not known, default 404); getStream (default true: GET opens a stream, else
// 405); version (of the answer to initialize).
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { RawHttpServer, chunk, deliver, replyBytes } from './raw_http.mjs';

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const EVENTS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };
const raw = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

export class ScriptedHttpServer {
  static async start(t, options = {}) {
    const server = new ScriptedHttpServer(options);
    await server.#http.listen(options.port);
    server.port = server.#http.port;
    t?.after(() => server.stop());
    return server;
  }

  #rules = [];
  #http = new RawHttpServer((request) => this.#serve(request));

  constructor(options) {
    Object.assign(this, { era: 'legacy', sessions: true, getStream: true, sse: false, calls: {},
      serverInfo: { name: 'scripted-http', version: '1.2.3' }, ...options });
    this.path = options.path ?? (this.era === 'http+sse' ? '/sse' : '/mcp');
    this.requests = [];  // what came: {time, method, target, headers, text, message, connection}
    this.known = new Map();    // session id -> {stream}
    this.streams = new Set();  // open GET and listen streams
  }

  get url() { return `http://127.0.0.1:${this.port}${this.path}`; }
  get accepted() { return this.#http.accepted; }
  get connections() { return this.#http.connections; }
  // Requests by JSON-RPC method or HTTP method.
  received(key) { return this.requests.filter((r) => fits(key, r)); }

  on(key, rule) { this.#rules.unshift({ key, rule, left: Infinity }); }
  once(key, ...rules) {
    for (const rule of [...rules].reverse()) this.#rules.unshift({ key, rule, left: 1 });
  }
  off(key) { this.#rules = this.#rules.filter((r) => r.key !== key); }

  // Sends a message on every open GET or listen stream.
  async push(message) { for (const stream of this.streams) await stream.send(message); }
  forgetSessions() { this.known.clear(); }
  // As a server that is restarted: nobody listens, connections are reset, sessions are forgotten.
  async stop(how = 'reset') {
    if (!this.#http.server?.listening) return;
    this.forgetSessions();
    await this.#http.close(how);
  }
  async restart() {
    await this.stop();
    await this.#http.listen(this.port);
  }
  async listen() { await this.#http.listen(this.port); }
  dropConnections() { for (const connection of this.connections) connection.reset(); }

  async #serve(request) {
    try {
      if (request.text !== '') request.message = JSON.parse(request.text);
    } catch { /* the test will see it in `requests` */ }
    request.time = Date.now();
    this.requests.push(request);
    const exchange = new Exchange(this, request);
    const found = this.#rules.find((r) => r.left > 0 && fits(r.key, request));
    if (found) {
      found.left--;
      if (typeof found.rule === 'function') return found.rule(exchange);
      exchange.rule = found.rule;
    }
    const { delay, then } = exchange.rule;
    if (delay) await pause(delay, undefined, { ref: false });
    await exchange.byRule();
    await then?.(exchange);
  }
}
const fits = (key, { method, message }) => key === '*' || key === method || key === message?.method;

// One request and the ways to answer it.
export class Exchange {
  constructor(server, request) {
    Object.assign(this, { server, request, message: request.message, rule: {} });
    this.connection = request.connection;
  }
  get id() { return this.message?.id; }
  get sessionId() { return this.request.headers['mcp-session-id']; }

  reply(reply) {
    const whole = { ...reply, headers: { ...reply.headers, ...this.rule.headers } };
    return this.bytes(replyBytes(whole));
  }
  bytes(bytes) { return deliver(this.connection, Buffer.from(bytes), this.rule.deliver); }
  result(value, headers) { return this.#response(`"result":${raw(value)}`, headers); }
  error(value, { status = 200, headers } = {}) {
    return this.#response(`"error":${raw(value)}`, headers, status);
  }
  #response(member, headers, status = 200) {
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(this.id ?? null)},${member}}`;
    if (this.channel) return this.channel.send(text);
    if (status === 200 && (this.rule.sse ?? this.server.sse)) return this.events([text], headers);
    return this.reply({ status, headers: { 'Content-Type': 'application/json', ...headers }, body: text });
  }
  // A whole event stream with an end. Strings that hold a line end are taken as they are.
  events(list, headers) {
    const body = list.map((e) => (typeof e === 'string' && /[\r\n]/.test(e) ? e : eventText(e))).join('');
    return this.reply({ headers: { ...EVENTS, ...headers }, body, chunked: true });
  }
  // An event stream that stays open: send(message, {id, event, retry}), raw(text), end(), reset().
  async stream(headers = {}) {
    const { connection, server } = this;
    const head = replyBytes({ headers: { ...EVENTS, ...headers, 'Transfer-Encoding': 'chunked',
      'Content-Length': null } });
    await connection.write(head);
    const stream = { request: this.request, gone: connection.gone, sent: 0,
      raw: (text) => connection.write(chunk(text)),
      send: (message, fields) => { stream.sent++; return stream.raw(eventText(message, fields)); },
      end: () => { server.streams.delete(stream); return connection.write('0\r\n\r\n'); },
      reset: () => { server.streams.delete(stream); connection.reset(); } };
    connection.gone.then(() => server.streams.delete(stream));
    return stream;
  }

  // --- What a rule says, or what a server does that has none.

  async byRule() {
    const { rule, server } = this;
    if (rule.raw !== undefined) return this.bytes(rule.raw);
    if (rule.events) return this.events(rule.events);
    if (rule.status !== undefined || rule.body !== undefined) return this.reply(rule);
    if (rule.result !== undefined) return this.result(rule.result);
    if (rule.error !== undefined) return this.error(rule.error);
    if (server.era === 'http+sse') return this.#httpSse();
    if (this.request.target.split('?')[0] !== server.path) return this.reply({ status: 404 });
    return server.era === 'modern' ? this.#modern() : this.#legacy();
  }

  async #legacy() {
    const { server, message } = this;
    if (server.sessions && message?.method !== 'initialize') {
      if (this.sessionId === undefined) {
        return this.error({ code: -32000, message: 'Bad Request: Mcp-Session-Id header is required' },
          { status: 400 });
      }
      if (!server.known.has(this.sessionId)) {
        if (server.gone) return server.gone(this);
        return this.error({ code: -32001, message: 'Session not found' }, { status: 404 });
      }
    }
    if (this.request.method === 'GET') return this.#getStream();
    if (this.request.method === 'DELETE') {
      server.known.delete(this.sessionId);
      return this.reply({ status: 200 });
    }
    if (message?.id === undefined || message.method === undefined) return this.reply({ status: 202 });
    const headers = {};
    if (message.method === 'initialize' && server.sessions) {
      headers['Mcp-Session-Id'] = randomUUID();
      server.known.set(headers['Mcp-Session-Id'], {});
    }
    return this.#answer(await this.#legacyResult(), headers);
  }
  async #getStream() {
    if (!this.server.getStream) return this.reply({ status: 405 });
    this.server.streams.add(await this.stream());
    return this.connection.gone;
  }
  #legacyResult() {
    const { server, message: { method, params } } = this;
    if (method === 'initialize') {
      return { protocolVersion: server.version ?? params.protocolVersion,
        capabilities: this.#capabilities(), serverInfo: server.serverInfo };
    }
    if (method === 'ping' || method === 'logging/setLevel') return {};
    if (server.subscribe && /^resources\/(un)?subscribe$/.test(method)) return {};
    return this.#offered();
  }

  async #modern() {
    const { server, message } = this;
    if (this.request.method !== 'POST') return this.reply({ status: 405 });
    if (message?.id === undefined) return this.reply({ status: 202 });
    if (message.method === 'server/discover') {
      return this.#answer({ supportedVersions: [MODERN], capabilities: this.#capabilities(), ttlMs: 60_000,
        cacheScope: 'public', _meta: { [`${META}serverInfo`]: server.serverInfo } });
    }
    if (message.method === 'subscriptions/listen') return this.#listen();
    const result = await this.#offered();
    if (result === null) return this.error({ code: -32601, message: 'Method not found' }, { status: 404 });
    return this.#answer(result);
  }
  async #listen() {
    const stream = await this.stream();
    const meta = { [`${META}subscriptionId`]: this.id };
    const send = stream.send;
    stream.send = (message, fields) => send({ ...message,
      params: { ...message.params, _meta: { ...message.params?._meta, ...meta } } }, fields);
    await stream.send({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged',
      params: { notifications: this.message.params.notifications } });
    this.server.streams.add(stream);
    return this.connection.gone;
  }

  // 2024-11-05: a GET stream that names where to post; answers come on it.
  async #httpSse() {
    const { server, message, request } = this;
    const [target, query] = request.target.split('?');
    if (request.method === 'GET' && target === server.path) {
      const stream = await this.stream();
      const id = randomUUID();
      server.known.set(id, { stream });
      server.streams.add(stream);
      await stream.raw(`event: endpoint\ndata: /messages?sessionId=${id}\n\n`);
      await this.connection.gone;
      return server.known.delete(id);
    }
    const known = server.known.get(new URLSearchParams(query).get('sessionId'));
    if (request.method !== 'POST' || target !== '/messages') return this.reply({ status: 405 });
    if (!known) return this.reply({ status: 404, body: 'Could not find session' });
    await this.reply({ status: 202, body: 'Accepted' });
    if (message?.id === undefined || message.method === undefined) return undefined;
    this.channel = known.stream;
    return this.#answer(await this.#legacyResult());
  }

  #answer(result, headers) {
    if (result === null) return this.error({ code: -32601, message: 'Method not found' });
    if (this.server.era !== 'modern' || typeof result === 'string') return this.result(result, headers);
    return this.result({ resultType: 'complete', ...result }, headers);
  }
  #capabilities() {
    const { server } = this;
    if (server.capabilities) return server.capabilities;
    const changing = { listChanged: true };
    return { tools: changing, ...(server.prompts && { prompts: changing }),
      ...(this.#hasResources() && { resources: { ...changing, ...(server.subscribe && { subscribe: true }) } }) };
  }
  #hasResources() { return Boolean(this.server.resources ?? this.server.templates); }
  async #offered() {
    const { server, message: { method, params } } = this;
    const hints = server.era === 'modern' ? { ttlMs: 60_000, cacheScope: 'public' } : {};
    switch (method) {
      case 'tools/list': return { tools: server.tools ?? ECHO, ...hints };
      case 'prompts/list': return server.prompts ? { prompts: server.prompts, ...hints } : null;
      case 'resources/list':
        return this.#hasResources() ? { resources: server.resources ?? [], ...hints } : null;
      case 'resources/templates/list':
        return this.#hasResources() ? { resourceTemplates: server.templates ?? [], ...hints } : null;
      case 'resources/read':
        return { contents: [{ uri: params.uri, text: 'content' }], ...hints };
      case 'prompts/get':
        return { messages: [{ role: 'user', content: { type: 'text', text: params.name } }] };
      case 'tools/call': {
        const call = server.calls[params.name];
        if (call) return call(params.arguments ?? {}, this);
        return { content: [{ type: 'text', text: `${params.name}:${JSON.stringify(params.arguments)}` }] };
      }
      default: return null;
    }
  }
}
const ECHO = [{ name: 'echo', inputSchema: { type: 'object' } }];

function eventText(message, { id, event = 'message', retry } = {}) {
  return `${event ? `event: ${event}\n` : ''}${id === undefined ? '' : `id: ${id}\n`}`
    + `${retry === undefined ? '' : `retry: ${retry}\n`}data: ${raw(message)}\n\n`;
}
